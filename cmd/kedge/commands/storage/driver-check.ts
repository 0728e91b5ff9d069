import type { Command } from 'commander';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { nameOf } from '../../connection/targets.js';
import { dataText, parseDataFormat } from '../../output/formats.js';
import { print, table } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { exitCodes } from '../../program/exit-codes.js';

interface CheckOptions {
  readonly namespace: string;
  readonly output: string;
}

/** The daemon may call a provider that answers slowly, several times. */
const timeoutMs = 300_000;

function rows(answer: JsonObject): readonly (readonly string[])[] {
  const all = Array.isArray(answer.requirements) ? answer.requirements : [];
  return all
    .filter(isJsonObject)
    .map((one) => [
      textOf(one, 'name'),
      textOf(one, 'state'),
      textOf(one, 'neededFor'),
      textOf(one, 'message'),
    ]);
}

async function check(word: string, { namespace, output }: CheckOptions): Promise<void> {
  const format = parseDataFormat(output);
  const request = { name: nameOf(['StorageClass'], word), secretNamespace: namespace };
  const client = await connect();
  try {
    const answer = await client.call('StorageClassService.Check', request, { timeoutMs });
    const found = rows(answer);
    if (format === 'table') {
      const provider = textOf(answer, 'provider');
      const where = provider === '' ? '' : ` (${provider})`;
      print(
        `Driver ${textOf(answer, 'driver')}${where}, checked on node ${textOf(answer, 'node')}.`,
      );
      print(`\n${table([['REQUIREMENT', 'STATE', 'NEEDED FOR', 'MESSAGE'], ...found])}`);
    } else print(await dataText(answer, format));
    if (found.some(([, state]) => state === 'missing')) process.exitCode = exitCodes.error;
  } finally {
    client.close();
  }
}

/** `kedge driver check CLASS` */
export function addDriverCheck(driver: Command): void {
  const command = driver
    .command('check')
    .argument('<class>', 'CLASS or storageclass/CLASS')
    .description(
      'check what volumes of a class need: parameters, secrets, programs of the node, the endpoint, and what the credential permits',
    )
    .option(
      '-n, --namespace <name>',
      'namespace of secrets that the class names without one',
      'default',
    )
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .addHelpText(
      'after',
      '\nOnly reads and dry runs are made. unknown: only a change at the provider would show it, or it could not be checked. The exit code is 1 if something is missing.',
    )
    .action((name: string, options: CheckOptions) => check(name, options));
  withExamples(
    command,
    ['kedge driver check fast', 'Name the missing scope, permission, program or setting'],
    ['kedge driver check fast -o json', 'For a program'],
  );
}
