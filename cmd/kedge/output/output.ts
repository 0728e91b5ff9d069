import pc from 'picocolors';
import type { AnyKind, Column } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import { isUsableStatus } from '@kedge/controllers/cause';
import { printableLine } from '../../terminal-text.js';
import { isExplained } from './subjects.js';

/** Prints a result to standard output. All other text goes to standard error; see {@link note}. */
export function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

/** Prints progress, a hint or an error to standard error. */
export function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

function cell(value: unknown): string {
  if (value === undefined || value === null || value === '') return '<none>';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const bad = new Set(['Failed', 'Stalled', 'NotReady', 'Degraded', 'False']);

/** A status word in its colour, if colours are enabled (a terminal, and NO_COLOR unset). */
export function coloured(word: string): string {
  if (word === 'True' || isUsableStatus(word)) return pc.green(word);
  if (bad.has(word)) return pc.red(word);
  return word;
}

/** Age as text: 5s, 3m, 2h, 4d; `<unknown>` for an invalid time. */
export function age(createdAt: unknown, now: number): string {
  const since = Date.parse(String(createdAt));
  if (Number.isNaN(since)) return '<unknown>';
  const seconds = Math.max(0, Math.floor((now - since) / 1_000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

/** Rows in columns without borders, as kubectl prints them. Each cell is one printable line. */
export function table(raw: readonly (readonly string[])[]): string {
  const rows = raw.map((row) => row.map(printableLine));
  const widths: number[] = [];
  for (const row of rows)
    for (const [at, text] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, text.length);
  return rows
    .map((row, index) =>
      row
        .map((text, at) => {
          const padded = at === row.length - 1 ? text : text.padEnd((widths[at] ?? 0) + 3);
          return index === 0 ? padded : padded.replace(text, () => coloured(text));
        })
        .join('')
        .trimEnd(),
    )
    .join('\n');
}

/** The layout of a table of a kind. */
export interface TableOptions {
  readonly wide: boolean;
  /** True if the first column is NAMESPACE. */
  readonly namespaces: boolean;
  readonly now: number;
  /**
   * Returns the text of the last column, which is the problem of an object; undefined without a problem. Absent: the
   * table does not have this column.
   */
  readonly causeOf?: (kind: AnyKind, object: JsonObject) => string | undefined;
}

/** Maximum characters of a cause in a table that is not wide; longer ones are truncated. */
const causeLengthMax = 90;

function causeCell(cause: string | undefined, wide: boolean): string {
  const text = printableLine(cause ?? '');
  return wide || text.length <= causeLengthMax ? text : `${text.slice(0, causeLengthMax - 1)}…`;
}

/** Returns the rows of a table: the header, then one row per object. */
export function objectRows(
  kind: AnyKind,
  objects: readonly JsonObject[],
  options: TableOptions,
): readonly (readonly string[])[] {
  const declared = kind.columns as readonly unknown[] as readonly Column<JsonObject>[];
  const columns = declared.filter((column) => options.wide || column.wide !== true);
  const namespaced = options.namespaces && kind.scope === 'Namespaced';
  const explains = options.causeOf !== undefined && isExplained(kind);
  const header = [
    ...(namespaced ? ['NAMESPACE'] : []),
    ...columns.map((column) => column.header),
    'AGE',
    ...(explains ? ['CAUSE'] : []),
  ];
  const rows = objects.map((object) => [
    ...(namespaced ? [cell(object.namespace)] : []),
    ...columns.map((column) => cell(column.value(object))),
    age((object.metadata as JsonObject | undefined)?.createdAt, options.now),
    ...(explains ? [causeCell(options.causeOf?.(kind, object), options.wide)] : []),
  ]);
  return [header, ...rows];
}

/**
 * An object in the form that `kedge cast` accepts: with its kind, or below the name of its kind if it has its
 * own field `kind`.
 */
export function castable({ kind }: AnyKind, object: JsonObject | undefined): JsonObject {
  if (object?.kind === undefined) return { kind, ...object };
  return { [kind.charAt(0).toLowerCase() + kind.slice(1)]: object };
}
