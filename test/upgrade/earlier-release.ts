import { execFileSync, spawnSync } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../acceptance/daemon.js';
import { linkPackages } from '../soak/source-copy.js';

/** Kedge at a commit, built in a separate folder. */
export class EarlierRelease {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  /** Whether the history of this checkout includes the commit. */
  static has(commit: string): boolean {
    const args = ['cat-file', '-e', `${commit}^{commit}`];
    return spawnSync('git', args, { cwd: root, stdio: 'ignore' }).status === 0;
  }

  static async build(commit: string): Promise<EarlierRelease> {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-earlier-'));
    await chmod(folder, 0o755);
    const options = { cwd: root, maxBuffer: 2 ** 27 };
    const archive = execFileSync('git', ['archive', commit], options);
    execFileSync('tar', ['--extract', '--directory', folder], { input: archive });
    await linkPackages(folder);
    // Its types were checked at that commit.
    const tsc = join('node_modules', 'typescript-7', 'bin', 'tsc');
    execFileSync(process.execPath, [tsc, '-b', 'cmd', '--noCheck'], {
      cwd: folder,
      stdio: 'inherit',
    });
    return new EarlierRelease(folder);
  }

  async dispose(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
