import { execFileSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { expect } from 'chai';
import { boxId, BoxDaemon, changedSupervisor, everybody } from './box.js';
import { requireDevices } from '../drivers/devices.js';
import { half } from '../fixtures/seed.js';

for (const who of half('hung starts', everybody))
  describe(`a start of a process that hangs, under a daemon of ${who}`, function () {
    this.timeout(60_000);
    let supervisor: string;
    let daemon: BoxDaemon;

    before(async function () {
      requireDevices(this);
      // As a mount that does not answer.
      supervisor = await changedSupervisor([
        { file: 'enter.sh', from: 'set -eu\nexec', to: 'set -eu\nsleep 86400.25\nexec' },
      ]);
      daemon = await BoxDaemon.start(who, { supervisor: `${supervisor}/supervise.sh` });
    });
    after(async () => {
      await daemon?.close();
      await rm(supervisor, { recursive: true, force: true });
    });

    it('is killed by a stop after the grace period, and nothing of it remains', async () => {
      const spec = { id: boxId, command: ['true'], env: {}, workingDir: '/', mounts: [] };
      await daemon.succeed({ type: 'start', spec });
      const stop = (graceMs: number): Promise<unknown> =>
        daemon.succeed({ type: 'requestStop', id: boxId, graceMs });
      await stop(60_000);
      expect((await daemon.succeed({ type: 'observe', id: boxId })).state?.state).to.equal(
        'starting',
      );
      await stop(0);
      await daemon.ended();
      await daemon.succeed({ type: 'remove', id: boxId });
      const processes = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
      expect(processes).to.not.include('sleep 86400.25');
      expect(processes).to.not.include(`${daemon.base}/data/instances/${boxId}/run-`);
    });
  });
