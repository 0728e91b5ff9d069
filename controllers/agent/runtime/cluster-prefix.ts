const prefixCharacters = 8;

/** The prefix of a cluster id in names that the clusters of one machine share. */
export function clusterPrefix(cluster: string): string {
  return cluster.slice(0, prefixCharacters);
}
