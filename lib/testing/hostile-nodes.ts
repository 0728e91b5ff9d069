/** Disks write sectors whole; a write of several may be torn between them. */
export const sectorBytes = 512;

/** A file: what programs see, and what a power loss leaves. */
export interface FileNode {
  readonly type: 'file';
  current: Buffer;
  durable: Buffer;
}

/** A directory, likewise. */
export interface DirectoryNode {
  readonly type: 'directory';
  readonly current: Map<string, Node>;
  readonly durable: Map<string, Node>;
}

/** What a name leads to. */
export type Node = FileNode | DirectoryNode;

/** One change of names that the disk applies whole or not at all. */
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

/** A change of names that survives from here on. */
export function applyDurably({ steps }: NameChange): void {
  for (const { directory, name, node } of steps) {
    if (node) directory.durable.set(name, node);
    else directory.durable.delete(name);
  }
}
