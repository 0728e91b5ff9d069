import type { Command } from 'commander';
import { invalid } from 'kedge';
import { callAndSay, kindNamed } from '../../connection/api.js';

interface Where {
  readonly namespace: string;
}

async function restart(type: string, name: string, { namespace }: Where): Promise<void> {
  const { kind, plural } = kindNamed(type);
  if (kind !== 'Service' && kind !== 'Instance')
    throw invalid([
      { field: 'TYPE', description: `"${type}" can't be restarted; use service or instance` },
    ]);
  await callAndSay(`${kind}Service.Restart`, { namespace, name }, `${plural}/${name} restarts`);
}

/** `kedge restart TYPE NAME` */
export function addRestart(program: Command): void {
  program
    .command('restart')
    .argument('<type>', 'service or instance')
    .argument('<name>')
    .description('stop and start workloads; those of a service one after the other')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((type: string, name: string, options: Where) => restart(type, name, options));
}
