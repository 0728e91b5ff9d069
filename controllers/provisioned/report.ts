/** What of a change of status the node writes that has the data: the fields that it reports. */
export function reportOf<S extends object>(status: S, fields: ReadonlySet<string>): S {
  return Object.fromEntries(Object.entries(status).filter(([field]) => fields.has(field))) as S;
}
