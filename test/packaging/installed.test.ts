import { execFileSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { finish, root } from '../acceptance/daemon.js';
import { tryOut } from './installed.js';
import { releaseTarballs } from './packed.js';
import { half } from '../fixtures/seed.js';

const tutorial = readFileSync(join(root, 'docs/tutorial-operators.md'), 'utf8');

/** The arguments of an install command of the tutorial, without its file. */
function tutorialArguments(command: string): readonly string[] {
  const line = tutorial.split('\n').find((text) => text.startsWith(command)) ?? '';
  expect(line, `the tutorial's ${command}`).to.match(/(kedge-cmd-|kedge_)\d+\.\d+\.\d+\S*$/);
  return line.slice(command.length).trim().split(' ').slice(0, -1);
}

/** The Debian package looks for packages of providers in a folder of their own. */
const installOfDebian = 'npm install --prefix /usr/local/lib/kedge';

const script = (name: string): string => join(root, 'scripts', name);
const isRoot = process.getuid?.() === 0;

function isOnPath(program: string): boolean {
  return (process.env['PATH'] ?? '').split(':').some((folder) => existsSync(join(folder, program)));
}

describe('Kedge installed outside a checkout', function () {
  this.timeout(300_000);
  let home: string;

  before(() => {
    home = mkdtempSync(join(tmpdir(), 'kedge-installed-'));
  });
  after(() => rmSync(home, { recursive: true, force: true }));

  describe('from the packed tarballs', () => {
    let tarball: string;

    before(async () => {
      tarball = (await releaseTarballs()).get('@kedge/cmd') ?? '';
    });

    /** Installs the one tarball; the packages of others come from npm's cache or the registry. */
    async function install(context: Mocha.Context, folder: string, args: string): Promise<void> {
      mkdirSync(folder);
      const line = `cd "${folder}" && npm install --prefer-offline --no-audit --no-fund --loglevel=error ${args} "${tarball}"`;
      const { code, stderr } = await finish('sh', ['-c', line]);
      if (code === 0) return;
      if (process.env['CI']) expect.fail(stderr);
      console.log('skipped: the packages could not be installed');
      context.skip();
    }

    const places = {
      'in an empty folder': async (context: Mocha.Context) => {
        const folder = join(home, 'folder');
        await install(context, folder, '');
        await tryOut(join(folder, 'node_modules/.bin'), folder, `npm install --prefix ${folder}`);
      },
      'under a global prefix': async (context: Mocha.Context) => {
        const folder = join(home, 'global');
        await install(
          context,
          folder,
          `${tutorialArguments('npm install').join(' ')} --prefix "${folder}"`,
        );
        await tryOut(join(folder, 'bin'), folder, 'npm install --global');
      },
    };
    for (const [place, tryIn] of half(
      'installations of tarballs',
      Object.entries(places),
      ([name]) => name,
    ))
      it(`works ${place}`, async function () {
        await tryIn(this);
      });
  });

  describe('from the Debian package', () => {
    let file: string;

    before(async function () {
      if (!isOnPath('dpkg-deb')) {
        console.log('skipped: dpkg-deb is missing (package dpkg)');
        this.skip();
      }
      const { debianPackage } = (await import(script('release/debian-package.mjs'))) as {
        debianPackage: (folder: string, architecture: string) => Promise<string>;
      };
      const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
      file = await debianPackage(join(home, 'deb'), architecture);
    });

    it('contains bundles, the native package of one platform, and nothing of a checkout', () => {
      const folder = join(home, 'unpacked');
      execFileSync('dpkg-deb', ['-x', file, folder]);
      const lib = join(folder, 'usr/lib/kedge');
      const paths = readdirSync(lib, { recursive: true }).map(String);
      expect(paths.filter((path) => /(^|\/)(test|\.bin)(\/|$)|\.ts$/.test(path))).to.deep.equal([]);
      expect(paths.filter((path) => path.endsWith('.node'))).to.have.length.within(1, 2);
      const programs = ['kedge', 'kedged'].map((name) => join(lib, `bin/${name}.mjs`));
      for (const program of programs) expect(statSync(program).mode & 0o777).to.equal(0o755);
      expect(statSync(join(lib, 'kedged/supervisor/supervise.sh')).mode & 0o111).to.not.equal(0);
      const scripts = readdirSync(join(root, 'controllers/agent/supervisor'));
      expect(readdirSync(join(lib, 'kedged/supervisor'))).to.have.members(scripts);
      const documents = join(folder, 'usr/share/doc/kedge');
      expect(existsSync(join(documents, 'copyright'))).to.equal(true);
      for (const page of readdirSync(documents).filter((name) => name.endsWith('.md'))) {
        const text = readFileSync(join(documents, page), 'utf8');
        for (const [, target = ''] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g))
          expect(existsSync(join(documents, target)), `${page} links to ${target}`).to.equal(true);
      }
      // The unit and the settings name it.
      expect(existsSync(join(documents, 'operating.md'))).to.equal(true);
    });

    it('works in the folder where it is unpacked', async () => {
      const folder = join(home, 'tried');
      execFileSync('dpkg-deb', ['-x', file, folder]);
      await tryOut(join(folder, 'usr/bin'), folder, installOfDebian);
    });

    it('is installed and removed by dpkg, has a unit that systemd accepts, and keeps the data', async function () {
      const needed = ['dpkg', 'systemd-analyze'].filter((program) => !isOnPath(program));
      const isPackaged = (await finish('dpkg-query', ['-W', 'nodejs'])).code === 0;
      const missing = [
        ...(isRoot ? [] : ['root']),
        ...needed,
        ...(isPackaged ? [] : ['Node.js as a Debian package']),
        ...(process.env['CI'] ? [] : ['a machine of CI, as it installs into the system']),
      ];
      if (missing.length > 0) {
        console.log(`skipped: needs ${missing.join(', ')}`);
        this.skip();
      }
      const dpkg = async (...args: readonly string[]): Promise<string> => {
        const { code, stdout, stderr } = await finish('dpkg', args);
        expect(code, stdout + stderr).to.equal(0);
        return stdout + stderr;
      };
      try {
        await dpkg(...tutorialArguments('sudo dpkg'), file);
        const unit = '/lib/systemd/system/kedged.service';
        const verified = await finish('systemd-analyze', ['verify', unit]);
        expect(verified.code, verified.stderr).to.equal(0);
        expect(verified.stderr).to.not.contain('kedged.service');
        const folder = join(home, 'system');
        mkdirSync(folder);
        await tryOut('/usr/bin', folder, installOfDebian);
        expect(existsSync('/etc/kedge/kedged.toml')).to.equal(true);
      } finally {
        const printed = await dpkg('--purge', 'kedge');
        expect(printed).to.contain('/var/lib/kedge stays');
      }
      expect(existsSync('/usr/bin/kedged')).to.equal(false);
    });
  });
});
