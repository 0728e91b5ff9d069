import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A directory with shared mount propagation, like that of a data directory. */
export class SharedDirectory {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<SharedDirectory> {
    const path = await mkdtemp(join(tmpdir(), 'kedge-shared-'));
    execFileSync('mount', ['--bind', path, path]);
    execFileSync('mount', ['--make-rshared', path]);
    return new SharedDirectory(path);
  }

  /** Unmounts and removes the directory. */
  async remove(): Promise<void> {
    spawnSync('umount', ['-R', this.path]);
    await rm(this.path, { recursive: true, force: true });
  }
}
