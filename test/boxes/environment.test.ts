import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { daemonOfEach, everybody } from './box.js';
import { half } from '../fixtures/seed.js';

/** Programs that start a workload or a command in it. */
const helpers =
  'sh mkdir flock setsid unshare mount umount pivot_root readlink stat cat cp mv rm setpriv nsenter script stty env';

for (const who of half('environments', everybody))
  describe(`the environment of a workload of ${who}`, function () {
    this.timeout(180_000);
    const current = daemonOfEach(who);

    const hostile = {
      LD_PRELOAD: '/missing/preload.so',
      LD_AUDIT: '/missing/audit.so',
      ENV: '/missing/env',
      IFS: 'x',
    };
    /**
     * Returns the number of messages of the loader: one for each program that was started with the library, or two for
     * LD_AUDIT.
     */
    const loaded = (text: string, library: string): number =>
      text.split('\n').filter((line) => line.includes(library)).length;

    it('chooses no code of the programs that start it, nor of those that run a command in it', async () => {
      await current.daemon.run(['/bin/sleep', '600'], { env: hostile });
      await eventually('the command', async () =>
        (await current.daemon.log()).includes('/missing/preload.so'),
      );
      expect(loaded(await current.daemon.log(), '/missing/preload.so'), 'start').to.equal(1);
      for (const terminal of [false, true]) {
        const { output = '', code } = await current.daemon.exec(['/bin/true'], terminal);
        expect(code).to.equal(0);
        expect(loaded(output, '/missing/preload.so'), `terminal: ${terminal}`).to.equal(1);
        expect(loaded(output, '/missing/audit.so'), `terminal: ${terminal}`).to.be.at.most(2);
      }
    });

    it('chooses no program that starts it, nor one that runs a command in it, by its search path', async () => {
      const bin = join(current.daemon.base, 'volume/bin');
      const called = join(current.daemon.base, 'volume/called');
      await mkdir(bin);
      await mkdir(called, { mode: 0o777 });
      await chmod(called, 0o777);
      for (const name of helpers.split(' ')) {
        await writeFile(join(bin, name), `#!/bin/sh\n: >${called}/${name}\n`);
        await chmod(join(bin, name), 0o755);
      }
      await current.daemon.run(['/bin/sleep', '600'], { env: { PATH: bin } });
      for (const terminal of [false, true])
        expect((await current.daemon.exec(['/bin/true'], terminal)).code).to.equal(0);
      expect(await readdir(called)).to.deep.equal([]);
    });

    it('has every name as it was given, also those that a shell would use', async () => {
      const env = {
        name: 'n',
        user: 'u',
        root: 'r',
        mode: 'm',
        directory: 'd',
        line: 'l',
        kept: 'k',
        KEDGE_ENV_1: 'own',
        OLDPWD: '/old',
        IFS: 'x',
        TEXT: "two\nlines 'quoted' $HOME \\ `id`",
        EMPTY: '',
      };
      const print = ['/usr/bin/env', '-0'];
      await current.daemon.run(['/bin/sh', '-c', 'env -0 >&2; exec sleep 600'], { env });
      const read = (text: string): Record<string, string> =>
        Object.fromEntries(
          text.split('\0').flatMap((entry) => {
            const at = entry.indexOf('=');
            return at > 0 ? [[entry.slice(0, at), entry.slice(at + 1)]] : [];
          }),
        );
      await eventually('its output', async () => (await current.daemon.log()).includes('EMPTY='));
      // The shell of this command has its own IFS.
      const { IFS: _, ...shown } = env;
      expect(read(await current.daemon.log())).to.include(shown);
      for (const terminal of [false, true]) {
        const { output = '' } = await current.daemon.exec(print, terminal);
        const got = read(output.replaceAll('\r\n', '\n'));
        expect(got).to.include(shown);
        const left = Object.keys(got).filter((key) => /^KEDGE_(?!ENV_1$)/.test(key));
        expect(left).to.deep.equal([]);
      }
    });

    it('needs a search path of its own only for its own programs', async () => {
      await current.daemon.run(['true'], { env: { PATH: '/missing' } });
      expect(await current.daemon.ended()).to.include({ exitCode: 127 });
      await current.daemon.run(['true'], { env: { PATH: '/usr/bin:/bin' } });
      expect(await current.daemon.ended()).to.include({ exitCode: 0 });
    });
  });
