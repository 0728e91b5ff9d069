/** A rule for one value of a request. In paths and queries a number is its decimal form. */
export type Rule =
  | {
      readonly type: 'text';
      readonly pattern?: RegExp;
      readonly oneOf?: readonly string[];
      readonly lengthMax?: number;
    }
  | { readonly type: 'whole' | 'number'; readonly min?: number; readonly max?: number }
  | { readonly type: 'truth' }
  | { readonly type: 'texts' }
  /** An object with any names, whose values are texts. */
  | { readonly type: 'labels'; readonly pattern: RegExp };

/** One field of one call. */
export interface Row {
  readonly in: 'path' | 'query' | 'body';
  readonly field: string;
  readonly rule: Rule;
  readonly required?: true;
  /** It may be given several times (query), or be null (body). */
  readonly several?: true;
  readonly nullable?: true;
  /** Where the field and its rule were seen; undefined: nowhere. */
  readonly source: string | undefined;
}

/** A call of a provider: rows for its fields, and nothing besides them. */
export interface CallSchema {
  readonly method: string;
  /** With `{name}` for a segment. */
  readonly path: string;
  readonly rows: readonly Row[];
  /** The field of the body that decides which variant applies, and the rows of each. */
  readonly variants?: {
    readonly by: string;
    readonly rows: Readonly<Record<string, readonly Row[]>>;
    readonly source: string | undefined;
  };
  /** Where the call was seen. */
  readonly source: string | undefined;
}

/** What a provider wants of every request. */
export interface HeaderRow {
  readonly header: string;
  readonly pattern: RegExp;
  readonly when: 'always' | 'with a body';
  readonly source: string | undefined;
}

/** The requests of a provider. */
export interface RequestSchema {
  readonly headers: readonly HeaderRow[];
  readonly calls: readonly CallSchema[];
}

/** Everything that has a source or lacks one: headers, calls, variants and fields. */
export function sourcesOf(schema: RequestSchema): readonly {
  readonly row: string;
  readonly source: string | undefined;
}[] {
  const calls = schema.calls.flatMap(({ method, path, rows, variants, source }) => {
    const call = `${method} ${path}`;
    const field = (row: Row, variant = ''): { row: string; source: string | undefined } => ({
      row: `${call}${variant} ${row.in} ${row.field}`,
      source: row.source,
    });
    const kinds = Object.entries(variants?.rows ?? {});
    return [
      { row: call, source },
      ...rows.map((row) => field(row)),
      ...(variants ? [{ row: `${call} by ${variants.by}`, source: variants.source }] : []),
      ...kinds.flatMap(([kind, all]) => all.map((row) => field(row, ` (${kind})`))),
    ];
  });
  return [...schema.headers.map(({ header, source }) => ({ row: header, source })), ...calls];
}
