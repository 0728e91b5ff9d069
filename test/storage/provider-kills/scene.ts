import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { OperationKind } from '@kedge/driver-sdk';
import type { TestDaemon } from '../../acceptance/daemon.js';
import type { ProviderProcess } from '../../drivers/provider/process.js';
import type { Disk, DiskSnapshot } from '../../drivers/provider/state.js';

const base = '/v1/namespaces/default';
const mebibyte = 1024 * 1024;
/** Timeout until everything is ready, regardless of the faults. */
const settleMs = 90_000;

/** Volumes, snapshots and a service of one case, with their required end state. */
export class Scene {
  readonly #daemon: TestDaemon;
  readonly #provider: ProviderProcess;
  readonly #name: string;
  /** Names of volumes and snapshots, by the required content at the provider. */
  readonly #volumes = new Map<
    string,
    { readonly sizeBytes: number; readonly isAttached: boolean }
  >();
  readonly #snapshots = new Set<string>();

  constructor(daemon: TestDaemon, provider: ProviderProcess, name: string) {
    this.#daemon = daemon;
    this.#provider = provider;
    this.#name = name;
  }

  static async prepare(daemon: TestDaemon): Promise<void> {
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'cloud',
      driver: 'local-host',
      reclaimPolicy: 'delete',
      parameters: { fsType: 'ext4' },
    });
  }

  /** Creates everything that the operation needs. */
  async before(kind: OperationKind): Promise<void> {
    if (kind === 'provision') return;
    await this.#createVolume();
    await this.#settled();
    if (kind === 'detach') await this.#createService();
    if (kind === 'restore' || kind === 'deleteSnapshot') await this.#createSnapshot();
    await this.#settled();
  }

  /** Requests the operation. */
  async ask(kind: OperationKind): Promise<void> {
    const name = this.#name;
    switch (kind) {
      case 'provision':
        return this.#createVolume();
      case 'attach':
        return this.#createService();
      case 'createSnapshot':
        return this.#createSnapshot();
      case 'delete':
        this.#volumes.delete(name);
        return this.#delete(`volumes/${name}`);
      case 'deleteSnapshot':
        this.#snapshots.delete(name);
        return this.#delete(`snapshots/${name}`);
      case 'detach':
        this.#volumes.set(name, { ...this.#volumes.get(name)!, isAttached: false });
        return this.#delete(`services/${name}`);
      case 'expand':
        this.#volumes.set(name, { sizeBytes: 24 * mebibyte, isAttached: false });
        await this.#daemon.ok('POST', `${base}/volumes/${name}:resize`, { size: '24Mi' });
        return;
      case 'restore': {
        const volume = { name: `${name}-restored` };
        this.#volumes.set(volume.name, { sizeBytes: 16 * mebibyte, isAttached: false });
        await this.#daemon.ok('POST', `${base}/snapshots/${name}:restore`, { volume });
        return;
      }
    }
  }

  async #createVolume(): Promise<void> {
    const name = this.#name;
    this.#volumes.set(name, { sizeBytes: 16 * mebibyte, isAttached: false });
    const size = { size: '16Mi', accessMode: 'ReadWriteOnce' };
    await this.#daemon.ok('POST', `${base}/volumes`, { name, storageClassName: 'cloud', ...size });
  }

  async #createService(): Promise<void> {
    const name = this.#name;
    this.#volumes.set(name, { ...this.#volumes.get(name)!, isAttached: true });
    await this.#daemon.ok('POST', `${base}/services`, {
      name,
      runtime: 'process',
      command: ['/bin/sh', '-c', 'exec sleep 1000'],
      terminationGracePeriodSeconds: 1,
      volumes: [{ name: 'data', mountPath: '/data', claim: { name } }],
    });
  }

  async #createSnapshot(): Promise<void> {
    const name = this.#name;
    this.#snapshots.add(name);
    await this.#daemon.ok('POST', `${base}/snapshots`, { name, source: { volume: name } });
  }

  async #delete(path: string): Promise<void> {
    const { status, body } = await this.#daemon.rest('DELETE', `${base}/${path}`);
    expect(status, JSON.stringify(body)).to.be.oneOf([200, 404]);
  }

  /** Waits until daemon and provider agree: one disk per volume, one snapshot per snapshot. */
  async #settled(withinMs = settleMs): Promise<void> {
    await eventually(
      `${this.#name} to settle`,
      async () => {
        await this.#agree();
        return true;
      },
      withinMs,
    ).catch(async (error: Error) => {
      const { disks, snapshots } = await this.#provider.state();
      const there = JSON.stringify({ disks, snapshots });
      throw new Error(`${error.message}: ${String(error.cause)}; at the provider: ${there}`);
    });
  }

  /** @throws AssertionError naming the difference */
  async #agree(): Promise<void> {
    const { disks, snapshots } = await this.#provider.state();
    const volumes = await this.#mine('volumes');
    expect(volumes.map(({ name }) => name)).to.have.members([...this.#volumes.keys()]);
    expect(Object.keys(disks), 'disks at the provider').to.have.length(volumes.length);
    for (const volume of volumes) {
      const { sizeBytes, isAttached } = this.#volumes.get(volume.name)!;
      const made = only<Disk>(disks, volume.uid);
      const node = isAttached ? { boundNode: 'here', status: 'Bound' } : { status: 'Available' };
      expect(volume.body).to.deep.include({
        handle: made.id,
        sizeBytes: String(sizeBytes),
        ...node,
      });
      expect(made).to.deep.equal({
        id: made.id,
        uid: volume.uid,
        sizeBytes,
        state: 'available',
        ...(isAttached ? { instance: 'i-1' } : {}),
      });
      expect(volume.body.snapshotsInFlight ?? []).to.deep.equal([]);
    }
    const taken = await this.#mine('snapshots');
    expect(taken.map(({ name }) => name)).to.have.members([...this.#snapshots]);
    expect(Object.keys(snapshots), 'snapshots at the provider').to.have.length(taken.length);
    for (const snapshot of taken) {
      const made = only<DiskSnapshot>(snapshots, snapshot.uid);
      expect(made.state).to.equal('available');
      expect(snapshot.body).to.deep.include({ handle: made.id, status: 'Ready' });
    }
  }

  async #mine(what: string): Promise<
    readonly {
      readonly name: string;
      readonly uid: string;
      readonly body: Record<string, unknown>;
    }[]
  > {
    const all = await this.#daemon.list(`${base}/${what}`);
    return all.map((body) => ({
      name: String(body.name),
      uid: (body.metadata as { readonly uid: string }).uid,
      body,
    }));
  }

  /** The requested object exists once. Then everything is deleted, and nothing remains at either side. */
  async after(withinMs = settleMs): Promise<void> {
    await this.#settled(withinMs);
    const name = this.#name;
    for (const path of [`services/${name}`, `snapshots/${name}`]) await this.#delete(path);
    await eventually('the volumes to be free', async () => {
      for (const [volume] of this.#volumes) await this.#delete(`volumes/${volume}`);
      return true;
    });
    this.#volumes.clear();
    this.#snapshots.clear();
    await this.#settled();
    await eventually('the service to be gone', async () => {
      const services = await this.#daemon.list(`${base}/services`);
      return services.length === 0;
    });
  }
}

function only<T extends { readonly uid: string }>(
  all: Readonly<Record<string, T>>,
  uid: string,
): T {
  const mine = Object.values(all).filter((one) => one.uid === uid);
  expect(mine, `what the provider has of ${uid}`).to.have.length(1);
  return mine[0]!;
}
