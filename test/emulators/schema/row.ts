/** A rule for one value of a request. Numbers in paths and queries are in decimal form. */
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
  /** An object with any keys, whose values are texts that match `pattern`. */
  | { readonly type: 'labels'; readonly pattern: RegExp };

/** One field of one call. */
export interface Row {
  readonly in: 'path' | 'query' | 'body';
  readonly field: string;
  readonly rule: Rule;
  readonly required?: true;
  /** Whether a query may have the field several times. */
  readonly several?: true;
  readonly nullable?: true;
  /** The publication that has the field and its rule; undefined if none was found. */
  readonly source: string | undefined;
}

/** A call of a provider with all its fields. Fields without a row are not allowed. */
export interface CallSchema {
  readonly method: string;
  /** The path. `{name}` stands for any segment. */
  readonly path: string;
  readonly rows: readonly Row[];
  /** A body that stands for none; default: only no body does. */
  readonly emptyBody?: string;
  /** Additional rows of the body for each value of its field `by`. */
  readonly variants?: {
    readonly by: string;
    readonly rows: Readonly<Record<string, readonly Row[]>>;
    readonly source: string | undefined;
  };
  /** The publication that has the call; undefined if none was found. */
  readonly source: string | undefined;
}

/** A required header of a provider's requests. */
export interface HeaderRow {
  readonly header: string;
  readonly pattern: RegExp;
  readonly when: 'always' | 'with a body';
  readonly source: string | undefined;
}

/** The allowed requests of a provider. */
export interface RequestSchema {
  readonly headers: readonly HeaderRow[];
  readonly calls: readonly CallSchema[];
}

/** Returns the source of each header, call, variant and field; undefined for one without a source. */
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
