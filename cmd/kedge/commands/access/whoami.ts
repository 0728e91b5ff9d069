import type { Command } from 'commander';
import { connect } from '../../connection/api.js';
import { currentContext } from '../../connection/context.js';
import { dataText, parseDataFormat } from '../../output/formats.js';
import { withExamples } from '../../program/examples.js';
import { print, table } from '../../output/output.js';

async function whoami(output: string): Promise<void> {
  const format = parseDataFormat(output);
  const context = await currentContext();
  const client = await connect(context);
  try {
    const me = await client.call('AuthService.WhoAmI', {});
    if (format !== 'table') print(await dataText(me, format));
    else
      print(
        table([
          ['SUBJECT', 'KIND', 'POLICIES', 'SERVER'],
          [
            String(me.subject),
            String(me.kind),
            ((me.policies ?? []) as readonly string[]).join(',') || '<none>',
            context.server,
          ],
        ]),
      );
  } finally {
    client.close();
  }
}

/** Adds `kedge whoami`. */
export function addWhoami(program: Command): void {
  const command = program
    .command('whoami')
    .description('print the user of the current token')
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .action(({ output }: { output: string }) => whoami(output));
  withExamples(command, ['kedge whoami', 'The identity and the server that commands use']);
}
