import { cp, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, everybody } from './box.js';
import { half } from '../fixtures/seed.js';

for (const who of half('installations', everybody))
  describe(`the scripts that start a process workload, under a daemon of ${who}`, function () {
    this.timeout(60_000);
    let daemon: BoxDaemon;
    let scripts: string;

    before(function () {
      requireDevices(this);
    });
    beforeEach(async () => {
      // The workload sees neither the folder nor the link to it.
      daemon = await BoxDaemon.start(who, (base) => ({
        supervisor: join(base, 'data/a link/supervise.sh'),
      }));
      scripts = join(daemon.base, "data/the scripts' folder");
      await cp(join(root, 'controllers/agent/supervisor'), scripts, { recursive: true });
      await symlink(scripts, join(daemon.base, 'data/a link'));
    });
    afterEach(() => daemon.close());

    it('may be in a folder that is hidden, has a space in its name and is behind a link', async () => {
      await daemon.run(['/bin/sh', '-c', `ls -A ${daemon.base}/data; exit 7`]);
      expect(await daemon.ended()).to.include({ state: 'exited', exitCode: 7 });
      expect(await daemon.log()).to.equal('');
    });

    for (const part of ['paths', 'plan', 'root', 'volumes'])
      it(`fail the start and name the file if enter-${part}.sh is missing`, async () => {
        await rm(join(scripts, `enter-${part}.sh`));
        await daemon.run(['/bin/true']);
        const state = await daemon.ended();
        expect(state).to.include({ state: 'startFailed' });
        expect(state).to.have.property('message').that.contains(`enter-${part}.sh`);
      });
  });
