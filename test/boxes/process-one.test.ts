import { chmod, mkdir, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, boxId, changedSupervisor, daemonOfEach, everybody } from './box.js';
import { half } from '../fixtures/seed.js';

const users = half('first processes', everybody);

for (const who of users)
  describe(`the sandbox of a workload of ${who}`, function () {
    this.timeout(180_000);
    const current = daemonOfEach(who);

    const stop = (graceMs: number) =>
      current.daemon.succeed({ type: 'requestStop', id: boxId, graceMs });

    it('ends by SIGTERM without a handler, with an exit code that names the signal', async () => {
      await current.daemon.run(['/bin/sleep', '600']);
      // No process is awaited here for its full duration.
      await stop(3_600_000);
      expect(await current.daemon.ended()).to.include({ exitCode: 143 });
    });

    it('passes SIGTERM on once, and reports the exit code of the workload', async () => {
      const script = 'trap "echo asked; exit 7" TERM; echo up; while :; do sleep 0.05; done';
      await current.daemon.run(['/bin/sh', '-c', script]);
      await eventually('the trap', async () => (await current.daemon.log()).includes('up'));
      await stop(30_000);
      expect(await current.daemon.ended()).to.include({ exitCode: 7 });
      expect((await current.daemon.log()).match(/asked/g)).to.have.length(1);
    });

    it('reports the exit code of a workload that ends while a signal is passed on to it', async () => {
      await current.daemon.close();
      // The shell is as slow here as on a machine under load.
      const from = 'kill -s "$1" "$workload" 2>/dev/null || :; }';
      const to = `${from.slice(0, -3)}; while [ -e "/proc/$workload" ]; do :; done; }`;
      const folder = await changedSupervisor([{ file: 'enter.sh', from, to }]);
      current.daemon = await BoxDaemon.start(who, { supervisor: join(folder, 'supervise.sh') });
      try {
        const script = 'trap "exit 7" TERM; echo up; while :; do sleep 0.05; done';
        await current.daemon.run(['/bin/sh', '-c', script]);
        await eventually('the trap', async () => (await current.daemon.log()).includes('up'));
        await stop(30_000);
        expect(await current.daemon.ended()).to.include({ exitCode: 7 });
      } finally {
        await rm(folder, { recursive: true });
      }
    });

    it('reports that the workload was killed, if a stop without a grace period killed it', async () => {
      await current.daemon.run([
        '/bin/sh',
        '-c',
        'trap "" TERM; echo up; while :; do sleep 1; done',
      ]);
      await eventually('the trap', async () => (await current.daemon.log()).includes('up'));
      await stop(0);
      expect(await current.daemon.ended()).to.include({ exitCode: 137 });
      expect(await current.daemon.log()).to.equal('up\n');
    });

    it('reaps processes that lost their parent', async () => {
      await current.daemon.run(['/bin/sh', '-c', 'sh -c "sleep 0.1 & :"; echo up; exec sleep 600']);
      await eventually('no zombie', async () => {
        const { output = '' } = await current.daemon.exec(['sh', '-c', 'cat /proc/[0-9]*/stat']);
        // Only the workload itself is left.
        return output.split('\n').filter((line) => line.includes('(sleep)')).length === 1;
      });
    });

    it('gives neither its command nor those of exec a descriptor except the three standard ones', async () => {
      // Shells reserve descriptor 10.
      const find =
        'for n in 3 4 5 6 7 8 9 11 12 13 14 15; do [ ! -e /proc/self/fd/$n ] || echo $n; done; echo ready';
      await current.daemon.run(['/bin/sh', '-c', `${find}; exec sleep 600`]);
      await eventually('its output', async () => (await current.daemon.log()).includes('ready'));
      expect(await current.daemon.log()).to.equal('ready\n');
      for (const terminal of [false, true]) {
        const { output = '' } = await current.daemon.exec(['/bin/sh', '-c', find], terminal);
        expect(output.trim(), `terminal: ${terminal}`).to.equal('ready');
      }
    });

    it('refuses a subPath that became a link, and a volume over the programs of the machine', async () => {
      const source = join(current.daemon.base, 'volume');
      await mkdir(join(source, 'a/b'), { recursive: true });
      await writeFile(join(current.daemon.base, 'data/kek'), 'key');
      const mount = { source, target: '/seen', readOnly: false, subPath: 'a/b' };
      await rename(join(source, 'a'), join(source, 'kept'));
      await symlink(join(current.daemon.base), join(source, 'a'));
      await current.daemon.run(['/bin/ls', '/seen'], { mounts: [{ ...mount, subPath: 'a/data' }] });
      expect(await current.daemon.ended()).to.include({ exitCode: 125 });
      expect(await current.daemon.log())
        .to.contain('behind a symbolic link')
        .and.not.to.contain('kek');
      await current.daemon.run(['/bin/true'], {
        mounts: [{ source, target: '/usr/bin', readOnly: false }],
      });
      expect(await current.daemon.ended()).to.include({ exitCode: 125 });
      expect(await current.daemon.log()).to.contain('a volume at /usr/bin would hide programs');
    });

    it('refuses a volume where its own programs are searched first', async () => {
      const source = join(current.daemon.base, 'volume');
      await writeFile(join(source, 'setpriv'), '#!/bin/sh\necho reached\n', { mode: 0o755 });
      for (const target of ['/usr/local/sbin', '/usr/local/bin', '/usr/local', '/usr/local/lib']) {
        await current.daemon.run(['/bin/true'], { mounts: [{ source, target, readOnly: false }] });
        expect(await current.daemon.ended(), target).to.include({ exitCode: 125 });
      }
      expect(await current.daemon.log())
        .to.contain('a volume at /usr/local/sbin would hide programs')
        .and.not.contain('reached');
    });

    it('shows of a directory that holds volumes its own alone, wherever they are mounted', async () => {
      const shared = join(current.daemon.base, 'shared');
      await writeFile(join(shared, 'other/secret'), '');
      const mount = (source: string, target: string) => ({ source, target, readOnly: false });
      const mounts = [mount(join(shared, 'own'), join(shared, 'own/deep'))];
      const list = ['/bin/sh', '-c', `: >${shared}/own/deep/x; cd ${shared}; echo * */* */*/*`];
      await current.daemon.run(list, { mounts });
      expect(await current.daemon.ended()).to.include({ exitCode: 0 });
      expect(await current.daemon.log()).to.equal('own own/deep own/deep/x\n');
    });

    const later = `/srv/kedge-box-later-${process.pid}`;
    it('shows no volume in a directory that is made while it runs, and makes none outside', async () => {
      await current.daemon.close();
      current.daemon = await BoxDaemon.start(who, { volumeDirectories: [join(later, 'deep')] });
      await current.daemon.run(['/bin/sleep', '600']);
      try {
        await mkdir(later);
        await mkdir(join(later, 'deep/theirs'), { recursive: true });
        const { output = '' } = await current.daemon.exec(['/usr/bin/find', later]);
        expect(output.trim().split('\n')).to.deep.equal([later, join(later, 'deep')]);
      } finally {
        await rm(later, { recursive: true, force: true });
      }
    });

    it('reports why a command is missing that is in a directory of volumes', async () => {
      const shared = join(current.daemon.base, 'shared');
      await current.daemon.run([join(shared, 'own/program')]);
      const { refused } = (await current.daemon.ended()) as { readonly refused?: string };
      expect(refused).to.equal(
        `command ${shared}/own/program does not exist; ${shared} holds volumes (storage.hostPathAllowlist), and a workload sees only its own: mount a volume with the file`,
      );
    });

    it('refuses a volume that the daemon’s directory is in', async () => {
      await current.daemon.run(['/bin/true'], {
        mounts: [{ source: current.daemon.base, target: '/seen', readOnly: false }],
      });
      expect(await current.daemon.ended()).to.include({ exitCode: 125 });
      expect(await current.daemon.log()).to.contain(
        'the volume at /seen holds a directory of kedged',
      );
    });
  });

for (const who of users)
  it(`the log of a workload of ${who} names a directory where volumes may be anywhere, and the workload sees none in /tmp and /var/tmp`, async function () {
    requireDevices(this);
    this.timeout(180_000);
    const inTmp = `/tmp/kedge-box-${process.pid}`;
    const missing = `/var/tmp/kedge-box-${process.pid}`;
    const volumeDirectories = ['/var', '/tmp', missing];
    const daemon = await BoxDaemon.start(who, { volumeDirectories });
    await mkdir(inTmp);
    await chmod(inTmp, 0o777);
    try {
      await daemon.run(['/bin/sh', '-c', `ls -A /tmp /var/tmp; touch ${inTmp}/x ${missing}/x`]);
      expect(await daemon.ended()).to.include({ exitCode: 1 });
      expect(await daemon.log())
        .to.contain('volumes may be anywhere below /var (storage.hostPathAllowlist)')
        .and.contain(`cannot touch '${inTmp}/x'`)
        .and.contain(`cannot touch '${missing}/x'`)
        .and.contain('/tmp:\n\n/var/tmp:\n')
        .and.not.contain('below /tmp');
      expect(await readdir(inTmp)).to.deep.equal([]);
    } finally {
      await daemon.close();
      await rm(inTmp, { recursive: true });
    }
  });
