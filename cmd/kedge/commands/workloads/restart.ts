import type { Command } from 'commander';
import { invalid } from 'kedge/objects';
import { callAndSay } from '../../connection/api.js';
import { forEachTarget, objectsNamedBy, slashed } from '../../connection/targets.js';
import { withExamples } from '../../program/examples.js';

interface Where {
  readonly namespace: string;
}

async function restart(words: readonly string[], { namespace }: Where): Promise<void> {
  const targets = objectsNamedBy(words);
  for (const { kind } of targets)
    if (kind.kind !== 'Service' && kind.kind !== 'Instance')
      throw invalid([
        {
          field: 'TYPE',
          description: `"${kind.plural}" can't be restarted; use service or instance`,
        },
      ]);
  await forEachTarget(targets, (target) =>
    callAndSay(
      `${target.kind.kind}Service.Restart`,
      { namespace, name: target.name },
      `${slashed(target)} restarts`,
    ),
  );
}

/** Adds `kedge restart TYPE NAME`. */
export function addRestart(program: Command): void {
  const command = program
    .command('restart')
    .argument(
      '<words...>',
      'service NAME..., instance NAME..., service/NAME... or instance/NAME...',
    )
    .description('restart workloads; instances of a service one after the other')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((words: string[], options: Where) => restart(words, options));
  withExamples(
    command,
    ['kedge restart service web', 'One instance after the other'],
    ['kedge restart instance/web-0', 'A single instance'],
  );
}
