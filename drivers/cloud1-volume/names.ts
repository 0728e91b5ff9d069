/** The mark in a volume's description: the cluster and the object to which the volume belongs. */
export interface Mark {
  readonly cluster: string;
  readonly uid: string;
  /** Namespace and name of the object. */
  readonly createdFor?: string;
}

/** Returns the description of a volume. {@link markOf} reads it. */
export function described({ cluster, uid }: Mark, name: string): string {
  return `kedge cluster=${cluster} volume=${uid} name=${name}`;
}

/** Reads the mark in a volume's description; undefined if the description has none. */
export function markOf(description: string): Mark | undefined {
  const form = /^kedge cluster=(\S*) volume=(\S+) name=(\S*)/;
  const [, cluster, uid, createdFor] = form.exec(description) ?? [];
  if (cluster === undefined || uid === undefined) return undefined;
  return { cluster, uid, ...(createdFor === undefined ? {} : { createdFor }) };
}
