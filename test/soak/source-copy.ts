import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from '../acceptance/daemon.js';
import { applyArguments, type KeptDefect } from './kept-defects.js';

const workspaces = ['lib', 'proto', 'drivers', 'drivers/sdk', 'controllers', 'cmd', 'test'];

/** Totals of one run of mocha. */
export interface Totals {
  readonly passes: number;
  readonly failures: number;
}

/** A copy of the project's sources that can be changed and built without touching the project. */
export class SourceCopy {
  readonly folder: string;

  private constructor(folder: string) {
    this.folder = folder;
  }

  static async make(): Promise<SourceCopy> {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-copy-'));
    // Some tests run the code as another user, who could not enter a private directory.
    await chmod(folder, 0o755);
    const listed = ['ls-files', '-z', '--cached', '--others', '--exclude-standard'];
    const files = execFileSync('git', listed, { cwd: root, maxBuffer: 2 ** 26 }).toString();
    // A listed file may have been removed meanwhile.
    const present = files.split('\0').filter((name) => name !== '' && existsSync(join(root, name)));
    // The existing build output, with its times and those of the sources, makes the first build short.
    const outputs = workspaces.map((workspace) => join(workspace, 'dist'));
    const script = 'tar --create --null --files-from=- | tar --extract --directory "$0"';
    execFileSync('sh', ['-c', script, folder], {
      cwd: root,
      input: [...present, ...outputs].join('\0'),
    });
    const copy = new SourceCopy(folder);
    await linkPackages(folder);
    return copy;
  }

  /** Applies or reverts a defect. */
  apply(defect: KeptDefect, reverse = false): void {
    const args = [...applyArguments, ...(reverse ? ['--reverse'] : []), defect.file];
    execFileSync('git', args, { cwd: this.folder, stdio: ['ignore', 'inherit', 'inherit'] });
  }

  /** Builds, and returns the errors of the compiler. */
  problemOfBuilding(): string | undefined {
    const { status, stdout } = spawnSync(
      process.execPath,
      ['node_modules/typescript-7/bin/tsc', '-b'],
      {
        cwd: this.folder,
        encoding: 'utf8',
      },
    );
    return status === 0 ? undefined : `the copy does not build:\n${stdout}`;
  }

  async test({ spec, grep }: KeptDefect): Promise<Totals> {
    const file = join(this.folder, 'totals.json');
    await rm(file, { force: true });
    spawnSync('node_modules/.bin/mocha', [spec, '-g', grep], {
      cwd: this.folder,
      // A sample of a suite may lack the subject, the user or the provider with which it detects the defect.
      env: {
        ...process.env,
        ...{ KEDGE_CONFORMANCE: 'all', KEDGE_HALVES: 'all', KEDGE_TOTALS_FILE: file },
      },
      stdio: 'ignore',
      // A defect may hang its test: mocha's limits end the test, and this timeout ends mocha.
      timeout: 300_000,
    });
    const ended = await readFile(file, 'utf8').catch(() => undefined);
    // A run that was killed or that crashed has detected the defect.
    return ended === undefined ? { passes: 0, failures: 1 } : (JSON.parse(ended) as Totals);
  }

  async dispose(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/**
 * Links the packages of the project. Those of the workspace lead into `folder`, because their own links are
 * relative.
 */
export async function linkPackages(folder: string, below = 'node_modules'): Promise<void> {
  await mkdir(join(folder, below), { recursive: true });
  for (const entry of await readdir(join(root, below), { withFileTypes: true })) {
    const path = join(below, entry.name);
    if (entry.isSymbolicLink()) await symlink(await readlink(join(root, path)), join(folder, path));
    else if (entry.name.startsWith('@') || entry.name === '.bin') await linkPackages(folder, path);
    else await symlink(join(root, path), join(folder, path));
  }
}
