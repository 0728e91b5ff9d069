import type { Command } from 'commander';
import { counted, invalid } from 'kedge/objects';
import { textOf } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { forEachTarget, objectsNamedBy, slashed } from '../../connection/targets.js';
import { print } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { wholeNumber } from '../../program/number-option.js';

/** Maximum replicas of the command. It is above the limit of the server, which the server checks. */
const replicasMax = 1_000_000;

interface ScaleOptions {
  readonly namespace: string;
  readonly replicas: number;
}

async function scale(words: readonly string[], options: ScaleOptions): Promise<void> {
  const { namespace, replicas } = options;
  const targets = objectsNamedBy(words);
  for (const { kind } of targets)
    if (kind.kind !== 'Service')
      throw invalid([
        { field: 'TYPE', description: `${kind.plural} can't be scaled; use service` },
      ]);
  const client = await connect();
  try {
    await forEachTarget(targets, async (target) => {
      const { name } = target;
      const before = await client.call('ServiceService.Get', { namespace, name });
      const was = Number(before.scale ?? 1);
      if (was === replicas) {
        print(`${slashed(target)} unchanged: it has ${counted(replicas, 'replica')}`);
        return;
      }
      const after = await client.call('ServiceService.Scale', { namespace, name, scale: replicas });
      print(`${slashed(target)} scaled from ${was} to ${textOf(after, 'scale') || replicas}`);
    });
  } finally {
    client.close();
  }
}

/** Adds `kedge scale TYPE NAME... --replicas N`. */
export function addScale(program: Command): void {
  const command = program
    .command('scale')
    .argument('<words...>', 'service NAME... or service/NAME...')
    .requiredOption(
      '--replicas <number>',
      'the number of replicas',
      wholeNumber('--replicas', replicasMax),
    )
    .description('set the number of replicas of services')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((words: string[], options: ScaleOptions) => scale(words, options));
  withExamples(
    command,
    ['kedge scale service web --replicas 3', 'Three instances'],
    ['kedge scale service/web service/db --replicas 0', 'Stop two services and keep their volumes'],
  );
}
