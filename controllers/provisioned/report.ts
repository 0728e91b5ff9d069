/** The part of a status change that the node with the data writes: the fields that it reports. */
export function reportOf<S extends object>(status: S, fields: ReadonlySet<string>): S {
  return Object.fromEntries(Object.entries(status).filter(([field]) => fields.has(field))) as S;
}
