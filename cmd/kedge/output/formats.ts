import { invalid } from 'kedge/objects';
import type { AnyKind } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import { didYouMean } from '../../near-miss.js';
import { printableLine } from '../../terminal-text.js';
import { evaluateJsonPath, parseJsonPath, type Template } from './jsonpath.js';
import { requireKnownPaths } from './jsonpath-fields.js';
import { castable, objectRows, table, type TableOptions } from './output.js';

/** The output format of a command. */
export type Format = 'table' | 'wide' | 'json' | 'yaml' | 'name' | { readonly jsonpath: Template };

const words = ['table', 'wide', 'json', 'yaml', 'name'] as const;
const jsonPathPrefix = 'jsonpath=';

/** Output formats of commands that print objects. */
export const objectFormats = 'table, wide, json, yaml, name or jsonpath=TEMPLATE';

/** Parses an output format. @throws StatusError InvalidArgument */
export function parseFormat(word: string): Format {
  if (word.startsWith(jsonPathPrefix))
    return { jsonpath: parseJsonPath(word.slice(jsonPathPrefix.length)) };
  const format = words.find((f) => f === word);
  if (format) return format;
  throw invalid([
    {
      field: '--output',
      description: `${JSON.stringify(word)} must be one of ${objectFormats}${didYouMean(word, [...words, 'jsonpath'])}`,
    },
  ]);
}

/** Objects of one kind. */
export interface Group {
  readonly kind: AnyKind;
  readonly objects: readonly JsonObject[];
}

/** Options for rendering objects. */
export interface RenderOptions extends Omit<TableOptions, 'wide'> {
  /** True if a single object was requested, which is not printed as a list. */
  readonly single: boolean;
}

/** The data of JSON and YAML output, which can be cast again. */
function dataOf(groups: readonly Group[], single: boolean): unknown {
  const [first, ...others] = groups;
  const kind = first && others.length === 0 ? first.kind : undefined;
  if (first && kind && single) return castable(kind, first.objects[0]);
  if (first && kind) return { kind: `${kind.kind}List`, items: first.objects };
  const items = groups.flatMap((group) => group.objects.map((o) => castable(group.kind, o)));
  return { kind: 'List', items };
}

/** Renders one table per kind; with several kinds the names have the kind as a prefix. */
function tables(groups: readonly Group[], options: TableOptions): string {
  const several = groups.length > 1;
  return groups
    .map(({ kind, objects }) => {
      const [header = [], ...rows] = objectRows(kind, objects, options);
      const name = header.indexOf('NAME');
      const named = (row: readonly string[]): readonly string[] =>
        row.map((text, at) => (several && at === name ? `${kind.plural}/${text}` : text));
      return table([header, ...rows.map(named)]);
    })
    .join('\n\n');
}

async function yamlText(data: unknown): Promise<string> {
  const { stringify } = await import('./yaml.js');
  return stringify(data).trimEnd();
}

/**
 * Renders objects in a format.
 * @throws StatusError InvalidArgument for a JSONPath template with an unknown field or too much output
 */
export async function renderGroups(
  groups: readonly Group[],
  format: Format,
  options: RenderOptions,
): Promise<string> {
  if (typeof format === 'object') {
    const [first, ...others] = groups;
    if (first && others.length === 0)
      requireKnownPaths(format.jsonpath, first.kind, options.single);
    const raw = first && others.length === 0 && options.single ? first : undefined;
    const document = raw ? { kind: raw.kind.kind, ...raw.objects[0] } : dataOf(groups, false);
    return evaluateJsonPath(format.jsonpath, document).replace(/\n$/, '');
  }
  switch (format) {
    case 'json':
      return JSON.stringify(dataOf(groups, options.single), undefined, 2);
    case 'yaml':
      return yamlText(dataOf(groups, options.single));
    case 'name':
      return groups
        .flatMap(({ kind, objects }) =>
          objects.map((o) => `${kind.plural}/${printableLine(String(o.name))}`),
        )
        .join('\n');
    case 'table':
    case 'wide':
      return tables(groups, { ...options, wide: format === 'wide' });
  }
}

/** Renders objects of one kind in a format. @throws StatusError as {@link renderGroups} */
export function render(
  kind: AnyKind,
  objects: readonly JsonObject[],
  format: Format,
  options: RenderOptions,
): Promise<string> {
  return renderGroups([{ kind, objects }], format, options);
}

/** Parses the format of data other than objects of a kind. @throws StatusError InvalidArgument */
export function parseDataFormat(word: string): 'table' | 'json' | 'yaml' {
  const known = ['table', 'json', 'yaml'] as const;
  const format = known.find((f) => f === word);
  if (format) return format;
  throw invalid([
    {
      field: '--output',
      description: `${JSON.stringify(word)} must be one of ${known.join(', ')}${didYouMean(word, known)}`,
    },
  ]);
}

/** Returns data as the text of a JSON or YAML document. */
export async function dataText(data: unknown, format: 'json' | 'yaml'): Promise<string> {
  return format === 'json' ? JSON.stringify(data, undefined, 2) : yamlText(data);
}
