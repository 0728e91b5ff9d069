const prefixCharacters = 8;

/** The first 8 characters of a cluster id. They distinguish the names that clusters on one machine choose. */
export function clusterPrefix(cluster: string): string {
  return cluster.slice(0, prefixCharacters);
}
