import { execFileSync, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { finish } from '../acceptance/daemon.js';
import { plainCommandTarball } from './packed.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));

/** Links the installed packages that the packed one needs, so that no registry is used. */
async function linkDependencies(modules: string): Promise<void> {
  for (const name of await readdir(join(root, 'node_modules'))) {
    if (name.startsWith('.') || name === '@kedge') continue;
    await symlink(join(root, 'node_modules', name), join(modules, name));
  }
  for (const name of await readdir(join(root, 'node_modules/@kedge')))
    if (name !== 'cmd')
      await symlink(join(root, 'node_modules/@kedge', name), join(modules, '@kedge', name));
}

describe('the package of kedged', function () {
  this.timeout(240_000);
  let home: string;
  let commands: string;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), 'kedge-packed-'));
    const modules = join(home, 'node_modules');
    const folder = join(modules, '@kedge/cmd');
    await mkdir(folder, { recursive: true });
    const unpack = ['-xzf', plainCommandTarball(), '-C', folder, '--strip-components=1'];
    execFileSync('tar', unpack);
    await linkDependencies(modules);
    commands = join(home, 'bin');
    await mkdir(commands);
    for (const name of ['kedge', 'kedged'])
      await writeFile(
        join(commands, name),
        `#!/bin/sh\nexec "${process.execPath}" "${join(folder, `bin/${name}.mjs`)}" "$@"\n`,
        { mode: 0o755 },
      );
  });
  after(() => rm(home, { recursive: true, force: true }));

  it('contains the examples, and the commands that its first start prints work outside a checkout', async () => {
    const cwd = join(home, 'elsewhere');
    await mkdir(cwd);
    const any = '127.0.0.1:0';
    const env = {
      ...process.env,
      PATH: `${commands}:${process.env['PATH'] ?? ''}`,
      XDG_CONFIG_HOME: join(home, 'config'),
      KEDGE_STORE_PATH: join(home, 'data'),
      KEDGE_SERVER_GRPC_ADDRESS: any,
      KEDGE_SERVER_REST_ADDRESS: any,
      KEDGE_SERVER_OPS_ADDRESS: any,
    };
    const run = (line: string) => finish('sh', ['-c', `cd "${cwd}" && ${line}`], env);
    const child = spawn(join(commands, 'kedged'), ['--local'], { cwd, env });
    let output = '';
    child.stdout.on('data', (data) => (output += String(data)));
    child.stderr.on('data', (data) => (output += String(data)));
    const ended = new Promise<number | null>((resolve) => {
      child.on('close', resolve);
    });
    try {
      await eventually('the greeting', () => output.includes('Ctrl-C stops it'), 90_000);
      const printed = [...output.matchAll(/^ {2}(\S.*)$/gm)].map((match) => match[1] ?? '');
      expect(printed, output).to.have.length(3);
      for (const line of printed) {
        expect(line).to.match(/^kedge /);
        const result = await run(line.replace(' --follow', ''));
        expect(result.code, `${line}: ${result.stdout}${result.stderr}`).to.equal(0);
      }
      const help = await run('kedge --help');
      const [, example = ''] = /^Example: kedge cast (.*)$/m.exec(help.stdout) ?? [];
      expect((await stat(example)).isFile(), example).to.equal(true);
      const ofCast = await run('kedge cast --help');
      const [, named = ''] = /kedge cast (\S+journal\.yaml)$/m.exec(ofCast.stdout) ?? [];
      expect((await stat(named)).isFile(), ofCast.stdout).to.equal(true);
      expect(ofCast.stdout).to.not.contain('docs/examples');
    } finally {
      child.kill('SIGTERM');
      await ended;
    }
    const refused = await run('kedge get volumes');
    expect(refused.code).to.not.equal(0);
    expect(refused.stderr).to.contain('Start it with: kedged --local').and.not.contain('npm');
  });
});
