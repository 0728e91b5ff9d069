import type { Command } from 'commander';
import { events } from '@kedge/controllers/kinds';
import { messageOf } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import type { JsonObject } from 'kedge/rpc';
import { printable } from '../../../terminal-text.js';
import { connect } from '../../connection/api.js';
import { namedBy } from '../../connection/targets.js';
import { type Format, parseFormat, render } from '../../output/formats.js';
import { GrowingTable } from '../../output/growing-table.js';
import { age, note, print, table } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';
import { usageError } from '../../output/usage.js';
import { requireNamespace } from '../objects/require-namespace.js';

interface EventsOptions {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly for?: string;
  readonly output: string;
  readonly watch?: boolean;
}

const header = ['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'];

function selectorFor(target: string | undefined): string {
  if (target === undefined) return '';
  const [object] = target.includes('/') ? namedBy([target]).objects : [];
  if (!object) throw usageError(`${JSON.stringify(target)} must be TYPE/NAME, such as volume/data`);
  return `regarding.kind=${object.kind.kind},regarding.name=${object.name}`;
}

function rowOf(event: JsonObject, now: number): readonly string[] {
  const { kind = '', name = '' } = (event.regarding ?? {}) as Record<string, string>;
  const count = Number(event.count ?? 1);
  const times = count > 1 ? ` (${count} times)` : '';
  return [
    age(event.lastSeenAt, now),
    String(event.type),
    String(event.reason),
    `${kind}/${name}`,
    `${String(event.message)}${times}`,
  ];
}

function sorted(found: readonly JsonObject[]): readonly JsonObject[] {
  return [...found].sort((a, b) => String(a.lastSeenAt).localeCompare(String(b.lastSeenAt)));
}

async function watchEvents(
  client: ApiClient,
  selection: { readonly namespace: string; readonly fieldSelector: string },
  format: Format,
  signal: AbortSignal,
): Promise<void> {
  const remote = client.resource(events);
  const shown = new GrowingTable(header);
  const printEvent = async (event: JsonObject): Promise<void> => {
    const now = Date.now();
    if (format === 'table' || format === 'wide') shown.add(rowOf(event, now));
    else {
      if (format === 'yaml') print('---');
      print(await render(events, [event], format, { single: true, namespaces: false, now }));
    }
  };
  const { items, cursor } = await remote.list(selection);
  for (const event of sorted(items as readonly unknown[] as readonly JsonObject[]))
    await printEvent(event);
  if (items.length === 0) note('No events yet; waiting for events, Ctrl-C ends this.');
  const onAway = (error: unknown): void =>
    note(`The server does not answer (${printable(messageOf(error))}); retrying until it does`);
  const changes = remote.follow({ ...selection, cursor, known: items, signal, onAway });
  // Deletions of events are ignored: events expire after a day.
  for await (const { type, object } of changes)
    if (type !== 'DELETED') await printEvent(object as unknown as JsonObject);
}

async function show(target: string | undefined, options: EventsOptions): Promise<void> {
  const format = parseFormat(options.output);
  if (target !== undefined && options.for !== undefined)
    throw usageError('use either TYPE/NAME or --for TYPE/NAME, not both');
  const selection = {
    namespace: options.allNamespaces ? '-' : options.namespace,
    fieldSelector: selectorFor(target ?? options.for),
  };
  const client = await connect();
  const interrupted = new AbortController();
  process.once('SIGINT', () => interrupted.abort());
  try {
    if (options.watch) {
      await watchEvents(client, selection, format, interrupted.signal);
      return;
    }
    const { items } = await client.resource(events).list(selection);
    const found = sorted(items as readonly unknown[] as readonly JsonObject[]);
    if (found.length === 0 && !options.allNamespaces)
      await requireNamespace(client, options.namespace);
    const now = Date.now();
    if (format !== 'table' && format !== 'wide')
      print(await render(events, found, format, { single: false, namespaces: false, now }));
    else if (found.length === 0) note('No events found.');
    else print(table([header, ...found.map((event) => rowOf(event, now))]));
  } finally {
    client.close();
  }
}

/** Adds `kedge events [TYPE/NAME]`. */
export function addEvents(program: Command): void {
  const command = program
    .command('events')
    .argument('[object]', 'TYPE/NAME: only events of this object')
    .description('list recent events, the newest last')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('--for <type/name>', 'only events of this object')
    .option('-o, --output <format>', 'table, json, yaml or jsonpath=TEMPLATE', 'table')
    .option('-w, --watch', 'continue with new events, until Ctrl-C')
    .action((target: string | undefined, options: EventsOptions) => show(target, options));
  withExamples(
    command,
    ['kedge events -A', 'Recent events of all namespaces'],
    ['kedge events volume/data --watch', 'New events of one object'],
  );
}
