import type { Command } from 'commander';
import { invalid } from 'kedge/objects';
import { textOf } from 'kedge/rpc';
import { connect, methodFor } from '../../connection/api.js';
import { explainRemote } from '../../connection/api-reader.js';
import { staleStates } from '../../connection/store-state.js';
import { labelOf } from '../../output/subjects.js';
import {
  forEachTarget,
  namespaceOption,
  objectsNamedBy,
  scopeOf,
  type Target,
} from '../../connection/targets.js';
import { explanationData, explanationText, lastCallOf } from '../../output/explanation.js';
import { dataText, parseDataFormat } from '../../output/formats.js';
import { print } from '../../output/output.js';
import { subjectOf } from '../../output/subjects.js';
import { withExamples } from '../../program/examples.js';

interface WhyOptions {
  readonly namespace: string;
  readonly output: string;
}

/**
 * Prints the explanations of objects, one after the other.
 * @throws StatusError InvalidArgument for a kind without explanations
 */
export async function why(
  targets: readonly Target[],
  { namespace, output }: WhyOptions,
): Promise<void> {
  const format = parseDataFormat(output);
  const client = await connect();
  let shown = 0;
  try {
    let stale: ReturnType<typeof staleStates> | undefined;
    await forEachTarget(targets, async ({ kind, name }) => {
      const request = { ...scopeOf(kind, namespace), name };
      const object = await client.call(methodFor(kind, 'Get'), request);
      const subject = subjectOf(kind, object);
      if (!subject)
        throw invalid([
          {
            field: 'TYPE',
            description: `${kind.plural} have no state to explain; to show the object: kedge describe ${kind.kind.toLowerCase()}/${name}${namespaceOption(kind, namespace)}`,
          },
        ]);
      const explained = {
        object: labelOf(kind, object),
        status: textOf(object, 'status') || 'Pending',
        explanation: await explainRemote(client, subject),
        lastCall: lastCallOf(object),
        // After the object, so that a server that does not answer is not waited for twice.
        stale: await (stale ??= staleStates()),
      };
      if (shown > 0) print(format === 'yaml' ? '---' : '');
      shown += 1;
      print(
        format === 'table'
          ? explanationText(explained)
          : await dataText(explanationData(explained), format),
      );
    });
  } finally {
    client.close();
  }
}

/** Adds `kedge why TYPE/NAME`. */
export function addWhy(program: Command): void {
  const command = program
    .command('why')
    .argument('<words...>', 'TYPE NAME... or TYPE/NAME...')
    .description('explain why an object is not ready, with the command that solves it')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .action((words: string[], options: WhyOptions) => why(objectsNamedBy(words), options));
  withExamples(
    command,
    ['kedge why service/web', 'The root cause, such as a volume of one of its instances'],
    ['kedge why volume data -n prod -o json', 'For a program'],
  );
}
