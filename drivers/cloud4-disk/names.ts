/** A zone of a project. */
export interface Place {
  readonly project: string;
  readonly zone: string;
}

/** A disk at the provider. */
export interface DiskPath extends Place {
  readonly name: string;
}

/** A snapshot at the provider. Snapshots are in no zone. */
export interface SnapshotPath {
  readonly project: string;
  readonly name: string;
}

/** An operation at the provider; without a zone it is a global one. */
export interface OperationPath {
  readonly project: string;
  readonly zone: string | undefined;
  readonly name: string;
}

/** Returns the handle of a disk, which is its path at the provider: it names project and zone without the class. */
export function diskHandle({ project, zone, name }: DiskPath): string {
  return `projects/${project}/zones/${zone}/disks/${name}`;
}

/** Reads the handle of a disk, or a URL that ends with one; undefined if the text is neither. */
export function diskPathOf(text: string): DiskPath | undefined {
  const [, project, zone, name] =
    /(?:^|\/)projects\/([^/]+)\/zones\/([^/]+)\/disks\/([^/]+)$/.exec(text) ?? [];
  if (project === undefined || zone === undefined || name === undefined) return undefined;
  return { project, zone, name };
}

/** Returns the handle of a snapshot, which is its path at the provider. */
export function snapshotHandle({ project, name }: SnapshotPath): string {
  return `projects/${project}/global/snapshots/${name}`;
}

/** Reads the handle of a snapshot; undefined if the text is none. */
export function snapshotPathOf(text: string): SnapshotPath | undefined {
  const [, project, name] = /^projects\/([^/]+)\/global\/snapshots\/([^/]+)$/.exec(text) ?? [];
  return project === undefined || name === undefined ? undefined : { project, name };
}

/** The text with which an operation is stored. */
export function operationText({ project, zone, name }: OperationPath): string {
  const scope = zone === undefined ? 'global' : `zones/${zone}`;
  return `projects/${project}/${scope}/operations/${name}`;
}

/** Reads a text of {@link operationText}; undefined for other texts. */
export function operationPathOf(text: string): OperationPath | undefined {
  const [, project, scope = '', name] =
    /^projects\/([^/]+)\/(global|zones\/[^/]+)\/operations\/([^/]+)$/.exec(text) ?? [];
  if (project === undefined || name === undefined) return undefined;
  return { project, zone: scope === 'global' ? undefined : scope.slice('zones/'.length), name };
}

/** The last part of a URL or path, such as the name of an instance. */
export function lastPart(url: string): string {
  return url.slice(url.lastIndexOf('/') + 1);
}

/** The mark in the description of a disk or snapshot: the cluster and the object to which it belongs. */
export interface Mark {
  readonly cluster: string;
  readonly uid: string;
  /** Namespace and name of the object. */
  readonly createdFor: string;
}

/** Returns a description with a mark. Labels would need a further permission. */
export function described({ cluster, uid, createdFor }: Mark): string {
  return `kedge cluster=${cluster} uid=${uid} name=${createdFor}`;
}

/** Reads the mark in a description; undefined if this driver did not write it. */
export function markOf(description: string): Mark | undefined {
  const [, cluster, uid, createdFor = ''] =
    /^kedge cluster=(\S*) uid=(\S+) name=(\S*)/.exec(description) ?? [];
  return cluster === undefined || uid === undefined ? undefined : { cluster, uid, createdFor };
}

/**
 * Whether a text can be the name of an instance, a disk or a snapshot. The provider refuses a path with another one.
 */
export function isResourceName(text: string): boolean {
  return /^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/.test(text);
}

/** The message for a node without an instance in the zone of a class (specification section 2.5). */
export function noInstance(node: string, { project, zone }: Place): string {
  return `node hostname must equal the instance name in the class's zone: host "${node}" is not an instance in zone ${zone} of project ${project}; give [node] name the name of the instance, or use a class of its zone`;
}
