import type { Command } from 'commander';
import { events } from '@kedge/controllers/kinds';
import { invalid } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import { connect, kindNamed, listAll } from '../../connection/api.js';
import { age, note, parseFormat, print, render, table } from '../../output/output.js';

interface EventsOptions {
  readonly namespace: string;
  readonly allNamespaces?: boolean;
  readonly for?: string;
  readonly output: string;
}

function selectorFor(target: string | undefined): string {
  if (target === undefined) return '';
  const [type = '', name = ''] = target.split('/');
  if (name === '')
    throw invalid([{ field: '--for', description: `"${target}" must be TYPE/NAME` }]);
  return `regarding.kind=${kindNamed(type).kind},regarding.name=${name}`;
}

function rows(found: readonly JsonObject[], now: number): readonly (readonly string[])[] {
  return found.map((event) => {
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
  });
}

async function show(options: EventsOptions): Promise<void> {
  const format = parseFormat(options.output);
  const client = await connect();
  try {
    const found = await listAll(client, events, {
      namespace: options.allNamespaces ? '-' : options.namespace,
      fieldSelector: selectorFor(options.for),
    });
    const sorted = [...found].sort((a, b) =>
      String(a.lastSeenAt).localeCompare(String(b.lastSeenAt)),
    );
    const now = Date.now();
    if (format !== 'table' && format !== 'wide')
      print(render(events, sorted, format, { single: false, namespaces: false, now }));
    else if (sorted.length === 0) note('No events found.');
    else print(table([['LAST SEEN', 'TYPE', 'REASON', 'OBJECT', 'MESSAGE'], ...rows(sorted, now)]));
  } finally {
    client.close();
  }
}

/** `kedge events` */
export function addEvents(program: Command): void {
  program
    .command('events')
    .description('tell what happened lately, the newest last')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-A, --all-namespaces', 'of all namespaces')
    .option('--for <type/name>', 'about one object only')
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .action((options: EventsOptions) => show(options));
}
