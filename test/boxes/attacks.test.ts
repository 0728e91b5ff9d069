import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { root } from '../acceptance/daemon.js';
import { requireDevices } from '../drivers/devices.js';
import { allAttacks, attacks } from './attacks.js';
import { BoxDaemon, everybody, uidOf, type Who } from './box.js';

const unboxed = join(root, 'test/fixtures/unboxed-supervisor/supervise.sh');
const socket = `/run/kedge-box-${process.pid}.sock`;
const shared = `/dev/shm/kedge-box-${process.pid}`;

/** Creates a System V object and returns its id. */
function makeIpc(options: string): string {
  const output = execFileSync('ipcmk', [...options.split(' '), '-p', '0644']).toString();
  return /\d+/.exec(output)?.[0] ?? '';
}

for (const who of everybody)
  describe(`attacks from a process workload of ${who}`, function () {
    this.timeout(180_000);
    let daemon: BoxDaemon;
    let victim: ChildProcess;
    let engine: Server;
    /** Ids of a segment, a queue and semaphores. */
    let ipc: readonly string[];

    before(function () {
      requireDevices(this);
    });
    beforeEach(async () => {
      const uid = uidOf(who);
      engine = createServer().listen(socket);
      await once(engine, 'listening');
      await chmod(socket, 0o666);
      await writeFile(shared, 'shared');
      await chmod(shared, 0o644);
      ipc = ['-M 64', '-Q', '-S 1'].map(makeIpc);
      const hold = ['-c', 'trap : USR1; while :; do sleep 1; done', '424242'];
      victim = spawn('/bin/sh', hold, { uid, gid: uid, stdio: 'ignore' });
    });
    afterEach(async () => {
      victim.kill('SIGKILL');
      engine.close();
      await rm(shared, { force: true });
      for (const [n, option] of ['-m', '-q', '-s'].entries())
        execFileSync('ipcrm', [option, ipc[n] ?? '']);
      await daemon.close();
    });

    /** Names of the attacks that succeed from the command of a workload, and from exec. */
    async function reached(
      as: Who,
      { supervisor, user }: { readonly supervisor?: string; readonly user?: string } = {},
    ): Promise<Record<string, string[]>> {
      daemon = await BoxDaemon.start(as, supervisor === undefined ? {} : { supervisor });
      const { base } = daemon;
      await writeFile(join(base, 'data/kek'), 'key');
      await writeFile(join(base, 'shared/other/secret'), 'theirs');
      await chown(join(base, 'shared/other/secret'), uidOf(as), uidOf(as));
      await mkdir(join(base, 'home'));
      await chown(join(base, 'home'), uidOf(as), uidOf(as));
      const variables = [
        `export DATA=${base}/data BASE=${base} SOCKET=${socket} SHARED=${shared}`,
        `export VICTIM=${victim.pid} DAEMON=${daemon.pid}`,
        `export SEGMENT=${ipc[0]} QUEUE=${ipc[1]} SEMAPHORES=${ipc[2]}`,
      ];
      const script = [...variables, allAttacks()].join('\n');
      const own = join(base, 'shared/own');
      const mounts = [
        { source: join(base, 'volume'), target: '/ro', readOnly: true },
        // Also at its path outside of the sandbox.
        { source: own, target: own, readOnly: false },
      ];
      await daemon.run(['/bin/sh', '-c', `${script}\nexec sleep 600`], {
        mounts,
        ...(user !== undefined && { user }),
      });
      await eventually('the attacks', async () => (await daemon.log()).includes('all tried'));
      const namesIn = (text: string): string[] =>
        [...text.matchAll(/^reached: (.*)$/gm)].map(([, name = '']) => name);
      const command = namesIn(await daemon.log());
      const { output = '' } = await daemon.exec(['/bin/sh', '-c', script]);
      expect(output).to.contain('all tried');
      return { command, exec: namesIn(output) };
    }

    it('succeed without a sandbox', async () => {
      const { command, exec } = await reached(who, { supervisor: unboxed });
      const expected = (from: 'command' | 'exec'): string[] =>
        attacks
          .filter(({ alsoAsUser }) => {
            if (who === 'root') return true;
            return from === 'command' ? alsoAsUser !== undefined : alsoAsUser === true;
          })
          .map(({ name }) => name);
      for (const [from, names] of Object.entries({ command, exec }) as [
        'command' | 'exec',
        string[],
      ][]) {
        console.log(`      ${expected(from).length} attacks of ${who} from ${from}`);
        expect(names, from).to.include.members(expected(from));
      }
    });

    it('fail in a sandbox', async () => {
      expect(await reached(who)).to.deep.equal({ command: [], exec: [] });
    });

    if (who === 'root')
      it('fail in a sandbox of another user', async () => {
        expect(await reached(who, { user: 'nobody' })).to.deep.equal({ command: [], exec: [] });
      });
  });
