import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { chmod, cp, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { linkPackages } from '../../soak/source-copy.js';
import { root } from '../daemon.js';

const id = 64_124;
const become = ['setpriv', `--reuid=${id}`, `--regid=${id}`, '--clear-groups'] as const;
const workspaces = ['lib', 'proto', 'drivers/sdk', 'drivers', 'controllers', 'cmd', 'test'];

/** Copies the built project to a folder. */
async function copyProject(folder: string): Promise<void> {
  const copy =
    'git ls-files -z -co --exclude-standard | tar --null --ignore-failed-read -T - -c | tar -x -C "$0"';
  execFileSync('sh', ['-c', copy, folder], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  for (const workspace of workspaces) {
    const dist = join(workspace, 'dist');
    await cp(join(root, dist), join(folder, dist), { recursive: true, preserveTimestamps: true });
  }
  await linkPackages(folder);
  // Older than the record of the installation, so nothing is installed.
  await utimes(join(folder, 'package-lock.json'), 0, 0);
}

describe('a second user of the machine', function () {
  this.timeout(300_000);
  let folder: string;

  before(function () {
    if (process.getuid?.() === 0) return;
    console.log('      skipped: only root can become another user');
    this.skip();
  });
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-second-'));
    await chmod(folder, 0o755);
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it('can run npm start in a separate copy, and the printed commands work as printed', async () => {
    const shared = '/var/tmp/kedge';
    const own = `${shared}-${id}`;
    await mkdir(shared, { recursive: true, mode: 0o700 });
    await rm(own, { recursive: true, force: true });
    const checkout = join(folder, 'kedge');
    const home = join(folder, 'home');
    for (const each of [checkout, home]) await mkdir(each);
    await copyProject(checkout);
    execFileSync('chown', ['-R', `${id}:${id}`, checkout, home]);
    const any = '127.0.0.1:0';
    const env = {
      PATH: process.env['PATH'] ?? '',
      HOME: home,
      KEDGE_SERVER_GRPC_ADDRESS: any,
      KEDGE_SERVER_REST_ADDRESS: any,
      KEDGE_SERVER_OPS_ADDRESS: any,
    };
    const [command, ...args] = become;
    const child = spawn(command, [...args, 'npm', 'start'], { cwd: checkout, env });
    let output = '';
    child.stdout.on('data', (data) => (output += String(data)));
    child.stderr.on('data', (data) => (output += String(data)));
    const ended = new Promise<number | null>((resolve) => {
      child.on('close', resolve);
    });
    let gone = false;
    void ended.then(() => (gone = true));
    try {
      await eventually('the greeting', () => gone || output.includes('Ctrl-C stops it'), 240_000);
      const printed = [...output.matchAll(/^ {2}(npx kedge .*)$/gm)].map((match) => match[1] ?? '');
      expect(printed, output).to.have.length(3);
      expect(printed[0]).to.equal(
        `npx kedge cast ${join(home, '.local/share/kedge/examples/journal.yaml')}`,
      );
      for (const line of printed) {
        const shell = ['sh', '-c', line.replace(' --follow', '')];
        const result = spawnSync(command, [...args, ...shell], {
          cwd: checkout,
          env,
          encoding: 'utf8',
          timeout: 120_000,
        });
        const shown = result.stdout + result.stderr;
        if (shown.includes('RuntimeUnavailable')) {
          expect(shown).to.contain('run kedged as root');
          console.log('      user namespaces are not available here; cast says so');
          break;
        }
        expect(result.status, `${line}: ${shown}`).to.equal(0);
      }
    } finally {
      if (!gone) child.kill('SIGTERM');
      await ended;
      await rm(own, { recursive: true, force: true });
    }
    expect(output).to.contain('All volumes torn down');
  });

  for (const { title, prepare, expected } of [
    {
      title: 'gets an error before anything is installed if the checkout belongs to another user',
      prepare: async () => {},
      expected: /^This checkout belongs to root \(uid 0\), and you are uid 64124: .*\n\n {2}cp -r /,
    },
    {
      title: 'gets an error about the owner of the checkout if a build fails',
      prepare: async () => {
        await mkdir(join(folder, 'node_modules/typescript-7/bin'), { recursive: true });
        await writeFile(join(folder, 'node_modules/.package-lock.json'), '');
        const failing = 'console.error("EACCES: permission denied");\nprocess.exit(1);\n';
        await writeFile(join(folder, 'node_modules/typescript-7/bin/tsc'), failing);
      },
      expected: /FAILED build[^]*This checkout belongs to root \(uid 0\)[^]*cp -r /,
    },
    {
      title: 'gets an error that names the files of a start with sudo in their checkout',
      prepare: async () => {
        await mkdir(join(folder, 'node_modules'));
        execFileSync('chown', [`${id}:${id}`, folder]);
      },
      expected: /node_modules belongs to root \(uid 0\)[^]*sudo chown -R 64124:64124 /,
    },
  ])
    it(title, async () => {
      await cp(join(root, 'scripts'), join(folder, 'scripts'), { recursive: true });
      await cp(join(root, 'package-lock.json'), join(folder, 'package-lock.json'));
      await utimes(join(folder, 'package-lock.json'), 0, 0);
      await prepare();
      const [command, ...args] = become;
      const start = [process.execPath, join(folder, 'scripts/start.mjs')];
      const result = spawnSync(command, [...args, ...start], {
        encoding: 'utf8',
        env: { PATH: process.env['PATH'] ?? '', HOME: folder },
      });
      expect(result.status).to.equal(1);
      expect(result.stderr).to.match(expected).and.not.contain('    at ');
    });
});
