import type { Command } from 'commander';
import { isJsonObject, textOf } from 'kedge/rpc';
import { connect } from '../../connection/api.js';
import { noteStaleStates } from '../../connection/store-state.js';
import { nameOf } from '../../connection/targets.js';
import { note, print, table } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { requireNamespace } from '../objects/require-namespace.js';

interface Where {
  readonly namespace: string;
}

async function health(word: string | undefined, { namespace }: Where): Promise<void> {
  const name = word === undefined ? '' : nameOf(['Service', 'Instance'], word);
  const client = await connect();
  try {
    const answer =
      word === undefined
        ? await client.call('HealthService.List', { namespace })
        : { items: [await client.call('HealthService.Get', { namespace, name })] };
    const items = (Array.isArray(answer.items) ? answer.items : []).filter(isJsonObject);
    const rows = items.map((item) => [
      textOf(item, 'name'),
      textOf(item, 'state'),
      `${Number(item.ready)}/${Number(item.wanted)}`,
      textOf(item, 'message'),
    ]);
    if (rows.length > 0) print(table([['NAME', 'HEALTH', 'READY', 'MESSAGE'], ...rows]));
    else {
      await requireNamespace(client, namespace);
      note(`No services found in namespace ${namespace}.`);
    }
    await noteStaleStates();
  } finally {
    client.close();
  }
}

/** Adds `kedge health [NAME]`. */
export function addHealth(program: Command): void {
  const command = program
    .command('health')
    .argument('[name]', 'NAME, service/NAME or instance/NAME')
    .description('show the health of workloads')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .action((name: string | undefined, options: Where) => health(name, options));
  withExamples(
    command,
    ['kedge health', 'All services of a namespace'],
    ['kedge health service/web', 'One of them'],
  );
}
