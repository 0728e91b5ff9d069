import type { Command } from 'commander';
import pc from 'picocolors';
import type { ApiClient } from 'kedge/client';
import type { JsonObject } from 'kedge/rpc';
import { printable } from '../../../terminal-text.js';
import { connect, isDescribed, methodFor } from '../../connection/api.js';
import { noteStaleStates } from '../../connection/store-state.js';
import { forEachTarget, objectsNamedBy, type Target } from '../../connection/targets.js';
import { type Description, descriptionOf } from '../../output/description.js';
import { dataText, parseDataFormat } from '../../output/formats.js';
import { age, coloured, print, table } from '../../output/output.js';
import { withExamples } from '../../program/examples.js';

interface DescribeOptions {
  readonly namespace: string;
  readonly output: string;
}

function section(title: string, lines: string): void {
  if (lines === '') return;
  print('');
  print(pc.bold(`${title}:`));
  print(lines.replaceAll(/^/gm, '  '));
}

function show(description: Description): void {
  const { kind = '', namespace = '', name = '', status = '' } = description;
  const rows = [
    ['Name:', name],
    ...(namespace === '' ? [] : [['Namespace:', namespace]]),
    ['Kind:', kind],
    ['Status:', coloured(status)],
    ...(description.fields ?? []).map((field) => [`${field.name}:`, printable(field.value)]),
  ];
  const width = Math.max(...rows.map(([label = '']) => label.length)) + 2;
  for (const [label = '', value = ''] of rows) print(`${printable(label.padEnd(width))}${value}`);
  const conditions = (description.conditions ?? []).map((c) => [
    c.type ?? '',
    c.status ?? '',
    c.reason ?? '',
    c.message ?? '',
  ]);
  if (conditions.length > 0)
    section('Conditions', table([['TYPE', 'STATUS', 'REASON', 'MESSAGE'], ...conditions]));
  const references = (description.references ?? []).map((r) => [
    r.relation ?? '',
    `${r.kind ?? ''} ${r.namespace ? `${r.namespace}/` : ''}${r.name ?? ''}`,
    r.status ?? '',
    r.detail ?? '',
  ]);
  if (references.length > 0)
    section('Related', table([['RELATION', 'OBJECT', 'STATUS', 'DETAIL'], ...references]));
  const events = (description.events ?? []).map((e) => [
    age(e.lastSeenAt, Date.now()),
    String(e.type),
    String(e.reason),
    `${String(e.message)}${Number(e.count ?? 1) > 1 ? ` (${String(e.count)} times)` : ''}`,
  ]);
  if (events.length > 0)
    section('Events', table([['LAST SEEN', 'TYPE', 'REASON', 'MESSAGE'], ...events]));
  section('Next', printable((description.hints ?? []).join('\n')));
}

/** The server's description of an object, or its fields if the kind has none. */
async function descriptionFrom(
  client: ApiClient,
  { kind, name }: Target,
  namespace: string,
): Promise<Description> {
  const request: JsonObject = { namespace, name };
  if (isDescribed(kind)) return client.call(methodFor(kind, 'Describe'), request);
  return descriptionOf(kind, await client.call(methodFor(kind, 'Get'), request));
}

/** Describes objects, one after the other. */
export async function describe(
  targets: readonly Target[],
  { namespace, output }: DescribeOptions,
): Promise<void> {
  const format = parseDataFormat(output);
  const client = await connect();
  let shown = 0;
  const several = targets.length > 1;
  try {
    await forEachTarget(targets, async (target) => {
      const description = await descriptionFrom(client, target, namespace);
      if (several && format === 'yaml') print('---');
      else if (shown > 0 && format === 'table') print('');
      shown += 1;
      if (format === 'table') show(description);
      else print(await dataText(description, format));
    });
    await noteStaleStates();
  } finally {
    client.close();
  }
}

/** Adds `kedge describe TYPE NAME...`. */
export function addDescribe(program: Command): void {
  const command = program
    .command('describe')
    .argument('<words...>', 'TYPE NAME... or TYPE/NAME...')
    .description('show all details of objects, and the next step')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .action((words: string[], options: DescribeOptions) =>
      describe(objectsNamedBy(words), options),
    );
  withExamples(
    command,
    ['kedge describe volume data', 'The state of a volume, its cause, and the next step'],
    ['kedge describe instance/web-0 volume/data -n prod', 'Two objects'],
  );
}
