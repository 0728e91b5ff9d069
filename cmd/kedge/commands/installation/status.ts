import type { Command } from 'commander';
import { hasCode } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import type { JsonObject } from 'kedge/rpc';
import { textOf } from 'kedge/rpc';
import { allKinds } from '@kedge/controllers/kinds';
import { connect, listAll } from '../../connection/api.js';
import { refusalsOf } from '../../connection/api-reader.js';
import { currentContext } from '../../connection/context.js';
import { refusalOf, storeState } from '../../connection/store-state.js';
import { scopeOf } from '../../connection/targets.js';
import { type Group, dataText, parseDataFormat } from '../../output/formats.js';
import { age, note, print, table } from '../../output/output.js';
import { countsOf, notReady } from '../../output/overview.js';
import { withExamples } from '../../program/examples.js';

/** Events and access objects are not part of the state of the cluster. */
const leftOut = ['Event', 'Token', 'User', 'Policy'];

interface Seen {
  readonly groups: readonly Group[];
  /** Plurals of the kinds that the caller may not list. */
  readonly hidden: readonly string[];
}

async function everything(client: ApiClient): Promise<Seen> {
  const kinds = allKinds.filter(({ kind }) => !leftOut.includes(kind));
  const seen = await Promise.all(
    kinds.map(async (kind) => {
      try {
        return { kind, objects: await listAll(client, kind, scopeOf(kind, '-')) };
      } catch (error) {
        if (hasCode(error, 'PermissionDenied')) return kind.plural;
        throw error;
      }
    }),
  );
  return {
    groups: seen.filter((each) => typeof each !== 'string'),
    hidden: seen.filter((each) => typeof each === 'string'),
  };
}

function nodeRow(node: JsonObject): readonly string[] {
  const beat = age(node.lastHeartbeatAt, Date.now());
  return [
    textOf(node, 'name'),
    textOf(node, 'status'),
    textOf(node, 'version'),
    ((node.runtimes ?? []) as readonly string[]).join(','),
    `${beat} ago`,
  ];
}

async function status(output: string): Promise<void> {
  const format = parseDataFormat(output);
  const context = await currentContext();
  const client = await connect(context);
  try {
    const me = await client.call('AuthService.WhoAmI', {});
    const { groups, hidden } = await everything(client);
    const store = await storeState();
    const nodes = groups.find(({ kind }) => kind.kind === 'Node')?.objects ?? [];
    const counts = countsOf(groups.filter(({ kind }) => kind.kind !== 'Node'));
    const open = notReady(groups, await refusalsOf(client));
    if (format !== 'table') {
      const data = {
        server: context.server,
        subject: me.subject,
        store,
        nodes: nodes.map(({ name, status: how, version }) => ({ name, status: how, version })),
        counts: counts.map(({ kind, total, statuses }) => ({ kind: kind.plural, total, statuses })),
        notReady: open,
        hidden,
      };
      print(await dataText(data, format));
      return;
    }
    print(`kedged at ${context.server} answers; you are ${textOf(me, 'subject')}.`);
    if (nodes.length > 0)
      print(
        `\n${table([['NODE', 'STATUS', 'VERSION', 'RUNTIMES', 'HEARTBEAT'], ...nodes.map(nodeRow)])}`,
      );
    const rows = counts
      .filter(({ total }) => total > 0)
      .map(({ kind, total, statuses }) => [kind.plural, String(total), statuses]);
    print(`\n${table([['KIND', 'COUNT', 'STATUS'], ...rows])}`);
    const refusal = refusalOf(store);
    if (refusal !== undefined)
      print(`\nWrites are refused, so that states may be out of date: ${refusal}.`);
    if (open.length === 0 && refusal === undefined)
      print(`\nAll ${hidden.length > 0 ? 'visible ' : ''}objects are ready.`);
    if (open.length > 0)
      print(
        `\nNot ready:\n${table([['OBJECT', 'STATUS', 'CAUSE'], ...open.map(({ object, status: how, cause }) => [object, how, cause || 'no cause is reported yet: see kedge describe'])])}`,
      );
    if (hidden.length > 0) note(`You are not permitted to list ${hidden.join(', ')}.`);
  } finally {
    client.close();
  }
}

/** Adds `kedge status`. */
export function addStatus(program: Command): void {
  const command = program
    .command('status')
    .description(
      'show the status of the daemon and its nodes, the number of objects, and the objects that are not ready',
    )
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .action((options: { readonly output: string }) => status(options.output));
  withExamples(command, ['kedge status', 'At a glance'], ['kedge status -o json', 'For a program']);
}
