import { once } from 'node:events';
import { chmod, cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { finish, root } from '../acceptance/daemon.js';

/** Removes the packages that are not in the lock file, as npm does, and installs the named ones unless it is offline. */
const npm = `#!/bin/sh
[ "$1" = ping ] && exit 0
echo "$@" >> "$KEPT/calls"
rm -rf "$KEPT/node_modules/@aws-sdk"
touch "$KEPT/node_modules/.package-lock.json"
case "$*" in
  *client-ec2*)
    [ -e "$KEPT/offline" ] && exit 1
    mkdir -p "$KEPT/node_modules/@aws-sdk/client-ec2"
    echo '{"version":"1.0.0"}' > "$KEPT/node_modules/@aws-sdk/client-ec2/package.json" ;;
esac
`;

describe('an installation from the lock file', function () {
  this.timeout(120_000);
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-kept-'));
    for (const file of [
      'scripts/steps.mjs',
      'scripts/ownership.mjs',
      'scripts/checks/registry.mjs',
      'drivers/package.json',
    ])
      await cp(join(root, file), join(folder, file));
    await mkdir(join(folder, 'bin'));
    await mkdir(join(folder, 'node_modules'));
    await writeFile(join(folder, 'package-lock.json'), '{}');
    await writeFile(join(folder, 'bin/npm'), npm);
    await chmod(join(folder, 'bin/npm'), 0o755);
  });
  afterEach(() => rm(folder, { recursive: true }));

  const sdk = (): string => join(folder, 'node_modules/@aws-sdk/client-ec2/package.json');
  const withSdk = async (): Promise<void> => {
    await mkdir(join(sdk(), '..'), { recursive: true });
    await writeFile(sdk(), '{"version":"0.9.0"}');
  };
  const install = (environment: Readonly<Record<string, string>> = {}) =>
    finish(
      process.execPath,
      ['-e', `import('${join(folder, 'scripts/steps.mjs')}').then((m) => m.install())`],
      { PATH: `${join(folder, 'bin')}:${process.env.PATH ?? ''}`, KEPT: folder, ...environment },
    );
  const calls = async (): Promise<number> =>
    (await readFile(join(folder, 'calls'), 'utf8')).trim().split('\n').length;

  it('keeps a package of a provider that a user installed, in the tested version', async () => {
    await withSdk();
    const { code, stderr } = await install();
    expect(`${code},${stderr}`).to.match(/^0,.*ok install @aws-sdk\/client-ec2@[\d.]+\n$/s);
    expect(await readFile(sdk(), 'utf8')).to.contain('1.0.0');
  });

  it('prints how to install it again if that fails, and succeeds', async () => {
    await withSdk();
    await writeFile(join(folder, 'offline'), '');
    const { code, stderr } = await install();
    expect(code).to.equal(0);
    expect(stderr).to.match(
      /which storage classes may need; to install it again: npm install --no-save --prefix \S+ @aws-sdk\/client-ec2@[\d.]+\n$/,
    );
  });

  for (const [what, answers] of [
    ['refuses connections', false],
    ['never answers', true],
  ] as const)
    it(`names the registry and what to do soon if it ${what}`, async () => {
      const sockets = new Set<Socket>();
      const server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
      await once(server.listen(0, '127.0.0.1'), 'listening');
      const { port } = server.address() as AddressInfo;
      const close = async (): Promise<void> => {
        for (const socket of sockets) socket.destroy();
        await new Promise((done) => server.close(done));
      };
      if (!answers) await close();
      const lock = {
        lockfileVersion: 3,
        packages: { '': { dependencies: { 'kedge-absent': '1.0.0' } } },
      };
      await writeFile(join(folder, 'package-lock.json'), JSON.stringify(lock));
      await writeFile(join(folder, 'package.json'), '{"dependencies":{"kedge-absent":"1.0.0"}}');
      await rm(join(folder, 'bin/npm'));
      const registry = `http://127.0.0.1:${port}/`;
      const startedAt = performance.now();
      const { code, stderr } = await install({
        npm_config_registry: registry,
        npm_config_cache: join(folder, 'cache'),
        HOME: folder,
      });
      if (answers) await close();
      expect(code, stderr).to.equal(1);
      expect(stderr).to.contain(`the registry ${registry} can't be reached (`);
      expect(stderr).to.contain('npm config set registry URL');
      // npm alone takes minutes.
      expect(performance.now() - startedAt).to.be.lessThan(100_000);
    });

  it('installs no package of a provider that was not there', async () => {
    const { code } = await install();
    expect([code, await calls()]).to.deep.equal([0, 1]);
  });
});
