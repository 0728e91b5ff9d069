import type { Command } from 'commander';
import pc from 'picocolors';
import type { JsonObject } from 'kedge/rpc';
import { printable } from '../../../terminal-text.js';
import { connect, isDescribed, kindNamed, methodFor } from '../../connection/api.js';
import { stringify } from 'yaml';
import { type Description, descriptionOf } from '../../output/description.js';
import { age, coloured, parseFormat, print, render, table } from '../../output/output.js';

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

/** Asks the server to describe one object and shows what it says. */
export async function describe(
  type: string,
  name: string,
  options: DescribeOptions,
): Promise<void> {
  const kind = kindNamed(type);
  const format = parseFormat(options.output);
  const client = await connect();
  try {
    const request: JsonObject = { namespace: options.namespace, name };
    if (!isDescribed(kind)) {
      const object = await client.call(methodFor(kind, 'Get'), request);
      if (format === 'table' || format === 'wide') show(descriptionOf(kind, object));
      else print(render(kind, [object], format, { single: true, namespaces: false, now: 0 }));
      return;
    }
    const description = await client.call(methodFor(kind, 'Describe'), request);
    if (format === 'table' || format === 'wide') show(description);
    else if (format === 'json') print(JSON.stringify(description, undefined, 2));
    else print(format === 'yaml' ? stringify(description).trimEnd() : `${kind.plural}/${name}`);
  } finally {
    client.close();
  }
}

/** `kedge describe TYPE NAME` */
export function addDescribe(program: Command): void {
  program
    .command('describe')
    .argument('<type>')
    .argument('<name>')
    .description('tell all there is to know about one object, and what to do next')
    .option('-n, --namespace <name>', 'namespace', 'default')
    .option('-o, --output <format>', 'table, json or yaml', 'table')
    .action((type: string, name: string, options: DescribeOptions) =>
      describe(type, name, options),
    );
}
