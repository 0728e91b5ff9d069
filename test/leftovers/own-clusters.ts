/** As in the names of control groups. */
const prefixCharacters = 8;
/** Prefixes of the control groups of the clusters that this process started. */
const prefixes = new Set<string>();

/** Records a cluster that this process started: its control groups are searched, also after its files are removed. */
export function noteCluster(id: string): void {
  prefixes.add(id.slice(0, prefixCharacters));
}

/** Whether a control group of a workload, `<prefix>-<uid>`, belongs to a cluster that this process started. */
export function isOwnGroup(name: string): boolean {
  const [, prefix = ''] = /^([0-9a-f]{8})-[0-9a-f-]{36}$/.exec(name) ?? [];
  return prefixes.has(prefix);
}
