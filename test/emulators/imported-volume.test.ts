import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { root, TestDaemon } from '../acceptance/daemon.js';
import { cleanUp, requireDevices } from '../drivers/devices.js';
import { LoopDevices } from './devices/loop-devices.js';
import { type RunningEmulator, startEmulator } from './index.js';
import { busyboxImage, requireEngine, RealEngine } from '../containers/engine.js';

const base = '/v1/namespaces/default';

describe('a volume that was made by hand at a provider', function () {
  this.timeout(300_000);
  let folder: string;
  let engine: RealEngine;
  let cloud: RunningEmulator;
  let daemon: TestDaemon;

  before(async function () {
    requireEngine(this);
    requireDevices(this);
    folder = await mkdtemp(join(tmpdir(), 'kedge-imported-'));
    engine = await RealEngine.start();
    const deviceDirectory = join(folder, 'by-id');
    cloud = await startEmulator({
      provider: 'cloud1',
      instances: [{ name: 'worker', place: 'fra1' }],
      actionMs: 100,
      devices: new LoopDevices({
        directory: folder,
        deviceDirectory: () => deviceDirectory,
        clock: systemClock,
      }),
    });
    const config = join(folder, 'kedged.toml');
    await writeFile(
      config,
      `[node]
name = "worker"
labels = { "svc.io/region" = "fra1" }
[drivers.cloud1-volume]
endpoint = "${cloud.endpoint}"
deviceDirectory = "${deviceDirectory}"
`,
    );
    daemon = await TestDaemon.start({
      program: join(root, 'cmd/dist/kedged/main.js'),
      arguments: ['--config', config],
      environment: { KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath },
    });
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'cloud',
      driver: 'cloud1-volume',
      parameters: { region: 'fra1', apiToken: 'test-token' },
    });
  });
  after(async () => {
    await daemon?.end('SIGTERM');
    if (daemon) await cleanUp(daemon.home);
    await daemon?.dispose();
    await cloud?.close();
    if (folder) await cleanUp(folder);
    await engine?.stop();
  });

  /** Creates a volume as a person does; resolves to its id and its image. */
  const byHand = async (name: string): Promise<{ readonly id: string; readonly image: string }> => {
    const response = await fetch(`${cloud.endpoint}/v2/volumes`, {
      method: 'POST',
      headers: { authorization: 'Bearer test-token', 'content-type': 'application/json' },
      body: JSON.stringify({ name, region: 'fra1', size_gigabytes: 1 }),
    });
    const { volume } = (await response.json()) as { readonly volume: { readonly id: string } };
    return { id: volume.id, image: join(folder, 'volumes', volume.id) };
  };
  const orphans = async (): Promise<readonly string[]> => {
    const { stdout } = await daemon.cli('admin', 'orphans', '--all');
    return stdout.split('\n').filter((line) => line.startsWith('kedge volume import'));
  };
  const service = (name: string, volume: string, script: string): Promise<unknown> =>
    daemon.ok('POST', `${base}/services`, {
      name,
      image: busyboxImage,
      command: ['sh', '-c', script],
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'data', mountPath: '/data', claim: { name: volume } }],
    });

  it('is imported by the printed command, and a container reads the data that was in it', async () => {
    const { image } = await byHand('my-data');
    await mkdir(join(folder, 'content'));
    await writeFile(join(folder, 'content', 'hello'), 'written by hand\n');
    execFileSync('mkfs.ext4', ['-q', '-F', '-d', join(folder, 'content'), image]);
    const [command = '', ...others] = await orphans();
    expect(others).to.deep.equal([]);
    const imported = await daemon.cli(...command.split(' ').slice(1));
    expect(imported.code, imported.stderr).to.equal(0);
    await service('reader', 'my-data', 'cat /data/hello; echo more >>/data/hello; exec sleep 600');
    await eventually(
      'the data in the log',
      async () => (await daemon.cli('logs', 'reader')).stdout.includes('written by hand'),
      90_000,
    );
    expect(await daemon.ok('GET', `${base}/volumes/my-data`)).to.include({
      status: 'Bound',
      reclaimPolicy: 'retain',
      size: '1Gi',
      importedAs: 'my-data',
      formatted: true,
    });
  });

  it('keeps its data when its object is deleted', async () => {
    await daemon.ok('DELETE', `${base}/services/reader`);
    const isGone = async (): Promise<boolean> => {
      await daemon.rest('DELETE', `${base}/volumes/my-data`);
      return (await daemon.rest('GET', `${base}/volumes/my-data`)).status === 404;
    };
    await eventually('the object to be gone', isGone, 90_000);
    const volumes = (await cloud.inventory()).filter((line) => line.startsWith('volume '));
    expect(volumes).to.have.length(1);
    expect(await orphans()).to.have.length(1);
  });

  it('is never formatted, also when it is blank', async () => {
    const { id, image } = await byHand('blank');
    const name = 'blank';
    const imported = await daemon.cli(
      ...['volume', 'import', name, '--class', 'cloud', '--handle', id],
    );
    expect(imported.code, imported.stderr).to.equal(0);
    await service('blank', name, 'exec sleep 600');
    await eventually(
      'the refusal to format',
      async () =>
        JSON.stringify(await daemon.ok('GET', `${base}/instances/blank-0`)).includes('is blank'),
      90_000,
    );
    const content = await readFile(image);
    expect(content.every((byte) => byte === 0)).to.equal(true);
  });
});
