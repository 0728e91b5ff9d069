/** Disks write sectors atomically; a write of several may be torn between them. */
export const sectorBytes = 512;

/** A file: its content for programs, and its content after a power loss. */
export interface FileNode {
  readonly type: 'file';
  current: Buffer;
  durable: Buffer;
}

/** A directory: its names for programs, and its names after a power loss. */
export interface DirectoryNode {
  readonly type: 'directory';
  readonly current: Map<string, Node>;
  readonly durable: Map<string, Node>;
}

/** The target of a name. */
export type Node = FileNode | DirectoryNode;

/** One change of names that the disk applies atomically. */
export interface NameChange {
  readonly steps: readonly {
    readonly directory: DirectoryNode;
    readonly name: string;
    readonly node: Node | undefined;
  }[];
}

/** A directory without names. */
export function emptyDirectory(): DirectoryNode {
  return { type: 'directory', current: new Map(), durable: new Map() };
}

/** Makes a change of names durable. */
export function applyDurably({ steps }: NameChange): void {
  for (const { directory, name, node } of steps) {
    if (node) directory.durable.set(name, node);
    else directory.durable.delete(name);
  }
}
