const prefixCharacters = 8;

/** The beginning of a cluster's id: part of the names of what clusters on one machine share with each other. */
export function clusterPrefix(cluster: string): string {
  return cluster.slice(0, prefixCharacters);
}
