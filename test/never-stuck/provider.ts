import {
  type CallContext,
  type Driver,
  DriverError,
  type DriverErrorKind,
  type DriverRegistry,
  type OperationKind,
  operationKinds,
  nodeTopologyKey,
  type Pending,
  type ProvisionRequest,
  type ProvisionResult,
  type SnapshotIdentity,
  type SnapshotResult,
  type VolumeIdentity,
} from '@kedge/driver-sdk';

/** Calls that a provider may refuse. */
export type ProviderCall = OperationKind | 'observe' | 'observeSnapshot' | 'mount' | 'unmount';

interface Asked extends Pick<CallContext, 'operations' | 'node'> {
  readonly volume?: VolumeIdentity;
  readonly snapshot?: SnapshotIdentity;
}

interface Disk {
  readonly uid: string;
  readonly label: string;
  sizeBytes: bigint;
  node: string | undefined;
}

/** The fault of a call: an error, or an operation that stays in progress. */
export type Fault = DriverErrorKind | 'slow';

/** Name of the driver of the cases. */
export const driverName = 'disk';
/** Name of a driver whose disks are permanently on the node that created them. */
export const nodeDriverName = 'shelf';

/** A provider of disks in memory with configured faults. It records forbidden requests. */
export class Provider {
  readonly disks = new Map<string, Disk>();
  /** The node of each disk and snapshot of the node's driver, by uid. */
  readonly #homes = new Map<string, string>();
  readonly snapshots = new Map<string, { readonly label: string; readonly sizeBytes: bigint }>();
  /** Calls that would have harmed data. */
  readonly wrongs: string[] = [];
  /** Faults of every call for a namespace. */
  readonly broken = new Map<string, Fault>();
  readonly #held = new Map<string, Fault>();
  #begun = 0;

  /** Sets the fault of one call for a namespace, or removes it with undefined. A fault in `broken` takes precedence. */
  hold(namespace: string, call: ProviderCall, fault: Fault | undefined): void {
    if (fault === undefined) this.#held.delete(`${namespace} ${call}`);
    else this.#held.set(`${namespace} ${call}`, fault);
  }

  registry(): DriverRegistry {
    const drivers = [this.#driver(driverName), this.#driver(nodeDriverName)];
    const named = (name: string) => drivers.find((driver) => driver.name === name);
    return {
      names: drivers.map(({ name }) => name),
      get: (name) => Promise.resolve(named(name)),
    };
  }

  async #call<T>(name: ProviderCall, request: Asked, effect: () => T): Promise<T | Pending> {
    await Promise.resolve();
    const { namespace } = request.volume ?? request.snapshot ?? { namespace: '' };
    const fault = this.broken.get(namespace) ?? this.#held.get(`${namespace} ${name}`);
    if (fault !== undefined && fault !== 'slow')
      throw new DriverError(fault, `the provider answers ${fault}`);
    const kind = operationKinds.find((known) => known === name);
    if (kind && fault === 'slow') return this.#goesOn(kind, request);
    this.#reach(request);
    const result = effect();
    if (kind) await request.operations.clear(kind);
    return result;
  }

  async #goesOn(
    kind: OperationKind,
    { operations }: Pick<CallContext, 'operations'>,
  ): Promise<Pending> {
    if ((await operations.get(kind)) === undefined)
      await operations.set(kind, `${kind}-${(this.#begun += 1)}`);
    return { type: 'pending', pollAfterMs: 5_000 };
  }

  /** As `#call`, for calls that do not stay in progress. */
  async #now<T>(name: ProviderCall, request: Asked, effect: () => T): Promise<T> {
    return (await this.#call(name, request, effect)) as T;
  }

  #disk(uid: string): Disk {
    const disk = this.disks.get(uid);
    if (!disk) throw new DriverError('NotFound', 'the provider has no such disk');
    return disk;
  }

  #made({ volume, sizeBytes, node }: ProvisionRequest, isOfNode: boolean): ProvisionResult {
    const { uid, namespace, name } = volume;
    if (isOfNode) this.#homes.set(uid, node);
    const label = `${namespace}/${name}`;
    const disk = this.disks.get(uid) ?? { uid, label, sizeBytes, node: undefined };
    this.disks.set(uid, disk);
    return { handle: uid, sizeBytes: disk.sizeBytes };
  }

  #snapshot(uid: string): SnapshotResult {
    const found = this.snapshots.get(uid);
    if (!found) throw new DriverError('NotFound', 'the provider has no such snapshot');
    return { handle: uid, restoreSizeBytes: found.sizeBytes, ready: true };
  }

  /** Records a call with another node than that of its disk or snapshot. */
  #reach({ volume, snapshot, node }: Asked): void {
    for (const asked of [volume, snapshot]) {
      const home = asked && this.#homes.get(asked.uid);
      if (!asked || home === undefined || home === node) continue;
      this.wrongs.push(
        `${asked.namespace}/${asked.name} is on ${home}, and the call was for ${node}`,
      );
    }
  }

  #driver(name: string): Driver {
    const isOfNode = name === nodeDriverName;
    return {
      name,
      capabilities: () => ({
        accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
        snapshots: true,
        clone: false,
        expand: true,
        onlineExpand: true,
        blockDevice: false,
        topologyKeys: isOfNode ? [nodeTopologyKey] : [],
        sensitiveParameters: isOfNode ? [] : ['token'],
        ownsData: true,
      }),
      validateParameters: () => [],
      provision: (asked) => this.#call('provision', asked, () => this.#made(asked, isOfNode)),
      restore: (asked) =>
        this.#call('restore', asked, () => {
          this.#snapshot(asked.snapshot.uid);
          return this.#made(asked, isOfNode);
        }),
      observe: (asked) =>
        this.#now('observe', asked, () => {
          const { uid, sizeBytes } = this.#disk(asked.volume.uid);
          return { handle: uid, sizeBytes };
        }),
      delete: (asked) =>
        this.#call('delete', asked, () => {
          const disk = this.disks.get(asked.volume.uid);
          if (disk?.node !== undefined)
            this.wrongs.push(`${disk.label} was deleted while it was attached to ${disk.node}`);
          this.disks.delete(asked.volume.uid);
        }),
      attach: (asked) =>
        this.#call('attach', asked, () => {
          const disk = this.#disk(asked.volume.uid);
          if (disk.node !== undefined && disk.node !== asked.node)
            throw new DriverError('InUse', `the disk is attached to ${disk.node}`);
          disk.node = asked.node;
          return { devicePath: '' };
        }),
      detach: (asked) =>
        this.#call('detach', asked, () => {
          const disk = this.disks.get(asked.volume.uid);
          if (disk?.node === asked.node) disk.node = undefined;
        }),
      mount: (asked) => this.#now('mount', asked, () => ({ path: asked.target })),
      unmount: (asked) => this.#now('unmount', asked, () => undefined),
      expand: (asked) =>
        this.#call('expand', asked, () => {
          const disk = this.#disk(asked.volume.uid);
          if (disk.sizeBytes < asked.sizeBytes) disk.sizeBytes = asked.sizeBytes;
          return { sizeBytes: disk.sizeBytes, fileSystemPending: false };
        }),
      createSnapshot: (asked) =>
        this.#call('createSnapshot', asked, () => {
          const { sizeBytes } = this.#disk(asked.volume.uid);
          const { uid, namespace, name } = asked.snapshot;
          const label = `${namespace}/${name}`;
          if (isOfNode) this.#homes.set(uid, asked.node);
          if (!this.snapshots.has(uid)) this.snapshots.set(uid, { label, sizeBytes });
          return this.#snapshot(uid);
        }),
      observeSnapshot: (asked) =>
        this.#now('observeSnapshot', asked, () => this.#snapshot(asked.snapshot.uid)),
      deleteSnapshot: (asked) =>
        this.#call('deleteSnapshot', asked, () => {
          this.snapshots.delete(asked.snapshot.uid);
        }),
    };
  }
}
