import type { CheckedRequest } from './check.js';
import type { HeaderRow, Rule } from './row.js';

/** One field of a form. An `N` in its name stands for the numbers of a list, from 1. */
export interface FormRow {
  readonly field: string;
  readonly rule: Rule;
  readonly required?: true;
  /** The publication that has the field and its rule; undefined if none was found. */
  readonly source: string | undefined;
}

/** The values of a form by their names. */
export type FormFields = ReadonlyMap<string, string>;

/** A rule about several fields. */
export interface FormRule {
  readonly what: string;
  /** Returns the deviation of a form; undefined if there is none. */
  readonly complaint: (fields: FormFields) => string | undefined;
  readonly source: string | undefined;
}

/** An action with all its fields. Fields without a row are not allowed. */
export interface FormCall {
  readonly action: string;
  readonly rows: readonly FormRow[];
  readonly rules?: readonly FormRule[];
  readonly source: string | undefined;
}

/** The allowed requests of a provider whose calls are forms: `POST /` with the name of the call in `Action`. */
export interface FormSchema {
  readonly headers: readonly HeaderRow[];
  /** The fields of every call. */
  readonly common: readonly FormRow[];
  readonly calls: readonly FormCall[];
}

/** Returns the deviations of a request from the provider's definition; empty if there are none. */
export function checkForm(schema: FormSchema, request: CheckedRequest): readonly string[] {
  const { method, path, query, body } = request;
  if (method !== 'POST' || path !== '/') return ['the definition has no such call'];
  const pairs = [...new URLSearchParams(body)];
  const fields: FormFields = new Map(pairs);
  const call = schema.calls.find(({ action }) => action === fields.get('Action'));
  if (!call) return [`the definition has no action ${fields.get('Action') ?? ''}`];
  const rows = [...schema.common, ...call.rows];
  return [
    ...headerProblems(schema, request),
    ...query.map(([name]) => `query ${name} is not defined`),
    ...(pairs.length === fields.size ? [] : ['a field is given several times']),
    ...[...fields].flatMap(([name, text]) => fieldProblems(rows, name, text)),
    ...rows.flatMap((row) => missing(row, fields)),
    ...gaps(fields),
    ...(call.rules ?? []).flatMap(({ complaint }) => complaint(fields) ?? []),
  ];
}

function headerProblems({ headers }: FormSchema, request: CheckedRequest): readonly string[] {
  return headers.flatMap(({ header, pattern }) => {
    const value = request.headers[header];
    // Problems do not contain the value, because it may be a credential.
    if (value === undefined) return [`header ${header} is missing`];
    return pattern.test(value) ? [] : [`header ${header} has the wrong form`];
  });
}

/** Returns the name of a field with `N` for numbers. */
function shapeOf(name: string): string {
  return name.replaceAll(/\.\d+(?=\.|$)/g, '.N');
}

function fieldProblems(rows: readonly FormRow[], name: string, text: string): readonly string[] {
  const found = rows.filter(({ field }) => field === shapeOf(name));
  if (found.length === 0) return [`field ${name} is not defined`];
  return found.flatMap(({ rule }) => {
    const why = complaintOf(rule, text);
    return why === undefined ? [] : [`field ${name} ${JSON.stringify(text)} ${why}`];
  });
}

function missing({ field, required }: FormRow, fields: FormFields): readonly string[] {
  const given = [...fields.keys()].some((name) => shapeOf(name) === field);
  return required && !given ? [`field ${field} is missing`] : [];
}

/** Lists are numbered from 1, without a gap. */
function gaps(fields: FormFields): readonly string[] {
  const lists = new Map<string, Set<number>>();
  for (const name of fields.keys())
    for (const { index, 0: part } of name.matchAll(/\.\d+(?=\.|$)/g)) {
      const list = name.slice(0, index);
      lists.set(list, (lists.get(list) ?? new Set()).add(Number(part.slice(1))));
    }
  return [...lists].flatMap(([list, numbers]) =>
    Math.max(...numbers) === numbers.size && !numbers.has(0)
      ? []
      : [`list ${list} is not numbered from 1 without a gap`],
  );
}

function complaintOf(rule: Rule, text: string): string | undefined {
  switch (rule.type) {
    case 'text': {
      if (rule.oneOf && !rule.oneOf.includes(text)) return `is none of ${rule.oneOf.join(', ')}`;
      if (rule.pattern && !rule.pattern.test(text)) return `does not match ${rule.pattern.source}`;
      const tooLong = rule.lengthMax !== undefined && [...text].length > rule.lengthMax;
      return tooLong ? `is longer than ${rule.lengthMax}` : undefined;
    }
    case 'whole':
    case 'number': {
      if (!/^\d+$/.test(text)) return 'is no whole number';
      if (rule.min !== undefined && Number(text) < rule.min) return `is less than ${rule.min}`;
      const tooLarge = rule.max !== undefined && Number(text) > rule.max;
      return tooLarge ? `is more than ${rule.max}` : undefined;
    }
    case 'truth':
      return text === 'true' || text === 'false' ? undefined : 'is neither true nor false';
    default:
      return 'has a rule that no form can have';
  }
}

/** Returns the source of each header, call, field and rule; undefined for one without a source. */
export function sourcesOfForm(schema: FormSchema): readonly {
  readonly row: string;
  readonly source: string | undefined;
}[] {
  const field = ({ field: row, source }: FormRow, action = 'every action') => ({
    row: `${action} ${row}`,
    source,
  });
  return [
    ...schema.headers.map(({ header, source }) => ({ row: header, source })),
    ...schema.common.map((row) => field(row)),
    ...schema.calls.flatMap(({ action, rows, rules = [], source }) => [
      { row: action, source },
      ...rows.map((row) => field(row, action)),
      ...rules.map((rule) => ({ row: `${action}: ${rule.what}`, source: rule.source })),
    ]),
  ];
}
