import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { chown, mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { eventually } from 'kedge/testing';
import type { TestDaemon } from '../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import type { RealEngine } from './engine.js';
import { startEngineAndDaemon, stopEngineAndDaemon } from './engine-daemon.js';
import { imageMs, loadImage, requireImage } from './real-image.js';
import { seed } from '../fixtures/seed.js';

const base = '/v1/namespaces/default';
const program = fileURLToPath(new URL('kedged-with-blocks.js', import.meta.url));
const wholeCycles = 20;
const cycles = process.env['KEDGE_LEDGER_CYCLES'] === 'all' ? wholeCycles : 2;
const victims = ['container', 'agent', 'engine'] as const;
/** User and group postgres of the image. */
const postgres = 999;

const server = `
if [ ! -s /data/main/PG_VERSION ]; then
  rm -rf /data/new
  initdb --pgdata=/data/new --username=postgres --auth=trust
  echo 'host all all all trust' >> /data/new/pg_hba.conf
  mv /data/new /data/main
fi
exec postgres -D /data/main -c 'listen_addresses=*' -c unix_socket_directories=/tmp -c max_wal_size=64MB`;

/** Four clients at a time. pgbench logs a transaction once its commit is acknowledged. */
const client = `
cd /ledger
until psql -h ledger -U postgres -c 'create table if not exists ledger (run int, client int, n int)'; do sleep 0.2; done
run=0
while :; do
  run=$((run+1))
  pgbench -h ledger -U postgres -n -c 4 -t 200 -D run=$run -D n=0 -f script.sql -l --log-prefix=run.$run || sleep 0.2
done`;
const transaction = '\\set n :n + 1\ninsert into ledger values (:run, :client_id, :n);\n';

describe(`the commits of PostgreSQL on a block volume, ${cycles} of ${wholeCycles} kills under pgbench, seed ${seed}`, function () {
  this.timeout(3_600_000);
  let engine: RealEngine;
  let daemon: TestDaemon;
  let folder: string;
  const random = seededRandom(seed);

  before(async function () {
    this.timeout(imageMs + 120_000);
    requireDevices(this);
    requireImage(this);
    ({ engine, daemon } = await startEngineAndDaemon(this, {
      program,
      environment: {
        // Many kills follow each other here.
        KEDGE_CONTROLLERS_RESTART_HEALTHY_MS: '1000',
      },
    }));
    folder = join(daemon.home, 'host', 'ledger');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'script.sql'), transaction);
    await chown(folder, postgres, postgres);
    await loadImage(daemon);
    const parameters = { fsType: 'ext4' };
    await daemon.ok('POST', '/v1/storageclasses', {
      ...{ name: 'block', driver: 'loop-block', parameters, reclaimPolicy: 'retain' },
    });
  });
  after(async () => {
    await daemon?.end('SIGTERM');
    if (daemon) await cleanUp(daemon.home);
    await stopEngineAndDaemon({ engine, daemon });
  });

  const instanceOf = async (name: string): Promise<Record<string, unknown>> =>
    (await daemon.rest('GET', `${base}/instances/${name}`)).body;
  const running = (name: string, restarts?: number) =>
    eventually(
      `${name} to run${restarts === undefined ? '' : ` after ${restarts} restarts`}`,
      async () => {
        const body = await instanceOf(name);
        const { status, conditions, message, restartCount = 0 } = body;
        if (status === 'Running' && Number(restartCount) === (restarts ?? restartCount))
          return body;
        throw new Error(JSON.stringify({ status, conditions, message, restartCount }));
      },
      // A start that the engine does not continue is freed after 120 s.
      300_000,
    );
  /**
   * The restarts until an instance runs for the first time. The engine of a loaded machine may fail the start of a
   * container that it created. The next start is a restart, and is printed with the events of the instance. A start that
   * fails before its container is created is not counted.
   */
  const firstRestarts = async (name: string): Promise<number> => {
    const { restartCount = 0 } = await running(name);
    if (Number(restartCount) > 0) {
      const events = await daemon.cli('get', 'events');
      console.log(
        `    ${name} restarted ${String(restartCount)} times before the kills:`,
        events.stdout,
      );
    }
    return Number(restartCount);
  };
  /** Acknowledged commits, `<run> <client>` and their number. */
  const acknowledged = (): ReadonlyMap<string, number> => {
    const counts = new Map<string, number>();
    for (const name of readdirSync(folder)) {
      const [, run] = /^run\.(\d+)\.\d+$/.exec(name) ?? [];
      if (run === undefined) continue;
      // The last piece is empty, or a line that is being written.
      for (const line of readFileSync(join(folder, name), 'utf8').split('\n').slice(0, -1)) {
        const key = `${run} ${line.split(' ')[0]}`;
        counts.set(key, (counts.get(key) ?? 0) + 1);
      }
    }
    return counts;
  };
  const total = (): number => [...acknowledged().values()].reduce((sum, count) => sum + count, 0);
  const moreCommits = async (): Promise<void> => {
    const before = total();
    await eventually('further commits', () => total() >= before + 800, 120_000);
  };
  const service = (name: string, script: string, volume: object): object => ({
    name,
    image: 'postgres:15',
    user: `${postgres}:${postgres}`,
    command: ['/bin/sh', '-ec', script],
    resources: { sharedMemory: '128Mi' },
    volumes: [volume],
  });
  const gone = async (name: string): Promise<void> => {
    await daemon.ok('DELETE', `${base}/services/${name}`);
    await eventually(
      `${name} to be gone`,
      async () => (await daemon.rest('GET', `${base}/services/${name}`)).status === 404,
      120_000,
    );
  };

  it('that were acknowledged are all kept, and the file system is clean', async () => {
    await daemon.ok('POST', `${base}/volumes`, {
      ...{ name: 'ledger', storageClassName: 'local-host', size: '1Gi' },
      accessMode: 'ReadWriteOnce',
      parameters: { hostPath: folder },
    });
    const size = { storageClassName: 'block', size: '512Mi', accessMode: 'ReadWriteOnce' };
    const data = { name: 'data', mountPath: '/data', claimTemplate: size };
    await daemon.ok('POST', `${base}/services`, {
      ...service('ledger', server, { ...data, fsUser: postgres, fsGroup: postgres }),
    });
    await daemon.ok('POST', `${base}/services`, {
      ...service('bench', client, {
        ...{ name: 'ledger', mountPath: '/ledger', claim: { name: 'ledger' } },
      }),
      terminationGracePeriodSeconds: 1,
    });
    let restarts = await firstRestarts('ledger-0');
    const benchRestarts = await firstRestarts('bench-0');
    // Each kind in turn, from one that the seed draws.
    const first = Math.floor(random.next() * victims.length);
    const killed: string[] = [];
    for (let cycle = 0; cycle < cycles; cycle += 1) {
      await moreCommits();
      await new Promise((resolve) => {
        setTimeout(resolve, random.next() * 500);
      });
      const victim = victims[(first + cycle) % victims.length] ?? 'container';
      killed.push(victim);
      if (victim === 'container') {
        const { containerId } = await instanceOf('ledger-0');
        engine.docker('kill', '--signal', 'KILL', String(containerId));
        restarts += 1;
      } else if (victim === 'agent') await daemon.crash();
      else {
        await engine.killDockerd();
        await engine.startDockerd();
      }
      await running('ledger-0', restarts);
      await running('bench-0', benchRestarts);
    }
    await moreCommits();
    await gone('bench');
    const { containerId } = await running('ledger-0', restarts);
    const copy = 'copy (select run, client, n from ledger) to stdout';
    const rows = engine.docker(
      ...['exec', String(containerId), 'psql', '-h', '/tmp', '-U', 'postgres', '-c', copy],
    );
    const there = new Set(rows.split('\n').map((row) => row.replaceAll('\t', ' ')));
    const lost: string[] = [];
    for (const [key, count] of acknowledged())
      for (let n = 1; n <= count; n += 1) if (!there.has(`${key} ${n}`)) lost.push(`${key} ${n}`);
    console.log(`    killed: ${killed.join(', ')}; ${total()} commits were acknowledged`);
    expect(lost).to.deep.equal([]);
    await gone('ledger');
    await eventually(
      'the volume to be detached',
      async () => {
        const volumes = await daemon.list(`${base}/volumes`);
        const own = volumes.find(({ storageClassName }) => storageClassName === 'block');
        if (own?.status === 'Released') return true;
        throw new Error(JSON.stringify(own ?? volumes));
      },
      60_000,
    );
    const images = join(daemon.home, 'blocks', 'volumes');
    const [image = '', ...others] = await readdir(images);
    expect(others).to.deep.equal([]);
    const check = spawnSync('e2fsck', ['-f', '-n', join(images, image)], { encoding: 'utf8' });
    expect(check.status, check.stdout + check.stderr).to.equal(0);
  });
});
