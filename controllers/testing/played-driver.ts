import {
  type CallContext,
  type Driver,
  DriverError,
  type DriverErrorKind,
  type DriverRegistry,
  type JournaledCall,
  nodeTopologyKey,
  type OperationKind,
  type Parameters,
  type Pending,
} from '@kedge/driver-sdk';

/** A fake driver with configurable results that records its calls. */
export class PlayedDriver {
  readonly calls: string[] = [];
  /** Name of the cloud provider; default: a driver of this machine. */
  provider: string | undefined;
  adoptsOffline = false;
  /** Whether a package that the driver needs is not installed. */
  isIncomplete = false;
  /** Error of every call. */
  fails: DriverErrorKind | undefined;
  /** The retry delay of an error; undefined: none. */
  retryAfterMs: number | undefined;
  /** The capability of this name: whether volumes are block devices. */
  blockDevice = false;
  /** The parameters that the daemon's configuration adds, read at every call. */
  configured: (() => Parameters) | undefined;
  /** Labels of nodes for the topology of its volumes. */
  topologyKeys: readonly string[] = [];
  /** The capability of this name: parameters with secrets. */
  sensitiveParameters: readonly string[] = [];
  /** The capability of this name; undefined: not declared. */
  wholeCredentials: readonly (readonly string[])[] | undefined;
  /** Parameters that name the place of a volume, by label. */
  placeParameters: Readonly<Record<string, readonly string[]>> = {};
  /** Labels that the topology of a volume must have. */
  requiredTopologyKeys: readonly string[] = [];
  /** Zones without capacity. */
  readonly full = new Set<string>();
  /** Whether a creation in a full zone creates the volume, and its answer is lost. */
  losesAnswers = false;
  /** The zones in which the provider has volumes, by uid. Like a zonal provider, it finds them only in their zone. */
  readonly zones = new Map<string, Set<string>>();
  /** The calls of the provider in errors and Pending answers. */
  providerCalls: (() => readonly JournaledCall[]) | undefined;
  /** Errors by the name of the call. */
  failsOn: Partial<Record<string, DriverErrorKind>> = {};
  /** The message of these failures; default the number of the call. */
  failsWith: string | undefined;
  /** The value of parameter `type` with which volumes can't be deleted. */
  refusesType: string | undefined;
  /**
   * How many further calls of `provision`, `delete`, `attach`, `createSnapshot` and `deleteSnapshot` are answered as
   * pending; other kinds have no effect. The pending calls for one object have one operation id.
   */
  slow: Partial<Record<OperationKind, number>> = {};
  /** Ids of started operations. */
  readonly begun: string[] = [];
  /** Awaited at the beginning of every call. */
  onCall: ((call: string) => Promise<void>) | undefined;
  /** Awaited by attach. */
  attaching: Promise<void> = Promise.resolve();
  /** Each call with its parameter `token`. */
  readonly tokens: (readonly [string, string | undefined])[] = [];
  /** For each observation: whether it was a background call. */
  readonly observed: boolean[] = [];
  /** Uids of the volumes and snapshots that the provider has. */
  readonly made = new Set<string>();

  registry(): DriverRegistry {
    const call = async (name: string, token?: string): Promise<void> => {
      this.calls.push(name);
      await this.onCall?.(name);
      this.tokens.push([name, token]);
      const fails = this.failsOn[name] ?? this.fails;
      // Each error has a different message, because the messages of providers contain request ids.
      const { retryAfterMs } = this;
      const calls = this.providerCalls?.() ?? [];
      const options = { calls, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
      if (fails)
        throw new DriverError(fails, this.failsWith ?? `call ${this.calls.length}`, options);
    };
    const goesOn = async (
      kind: OperationKind,
      { operations }: Pick<CallContext, 'operations'>,
    ): Promise<boolean> => {
      const left = this.slow[kind] ?? 0;
      const known = await operations.get(kind);
      if (left === 0) {
        await operations.clear(kind);
        return false;
      }
      this.slow[kind] = left - 1;
      if (known === undefined) {
        this.begun.push(`${kind}-${this.begun.length}`);
        await operations.set(kind, this.begun.at(-1) ?? '');
      }
      return true;
    };
    const goingOn = (): Pending => {
      const calls = this.providerCalls?.();
      return { type: 'pending', pollAfterMs: 5_000, ...(calls ? { calls } : {}) };
    };
    const driver: Driver = {
      name: 'played',
      ...(this.provider === undefined ? {} : { provider: this.provider }),
      capabilities: () => ({
        accessModes: ['ReadWriteOnce'],
        snapshots: true,
        clone: false,
        expand: true,
        onlineExpand: true,
        blockDevice: this.blockDevice,
        topologyKeys: this.topologyKeys,
        placeParameters: this.placeParameters,
        ...(this.requiredTopologyKeys.length === 0
          ? {}
          : { requiredTopologyKeys: this.requiredTopologyKeys }),
        adoptsOffline: this.adoptsOffline,
        sensitiveParameters: this.sensitiveParameters,
        ...(this.wholeCredentials ? { wholeCredentials: this.wholeCredentials } : {}),
        ownsData: true,
      }),
      validateParameters: () => [],
      load: () =>
        this.isIncomplete
          ? Promise.reject(
              new DriverError(
                'Unavailable',
                'driver played needs the package @some/sdk, which is not installed; run: npm install --global @some/sdk@1.0.0',
              ),
            )
          : Promise.resolve(),
      provision: async (request) => {
        const { sizeBytes, volume, parameters } = request;
        await call('provision', parameters['token']);
        const zone = request.topology['svc.io/zone'] ?? '';
        if (this.full.has(zone) && !this.losesAnswers)
          throw new DriverError('QuotaExceeded', `${zone} is full`, { retryElsewhere: true });
        if (await goesOn('provision', request)) return goingOn();
        this.made.add(volume.uid);
        this.zones.set(volume.uid, (this.zones.get(volume.uid) ?? new Set()).add(zone));
        if (this.losesAnswers) throw new DriverError('Unavailable', 'connection reset');
        return { handle: 'h', sizeBytes };
      },
      observe: async ({ isBackground = false }) => {
        this.observed.push(isBackground);
        await call('observe');
        return { handle: 'h', sizeBytes: undefined };
      },
      delete: async (request) => {
        const { volume, parameters } = request;
        await call('delete', parameters['token']);
        if (this.refusesType !== undefined && parameters['type'] === this.refusesType)
          throw new DriverError('InvalidParameters', `parameter type: ${this.refusesType}`);
        if (await goesOn('delete', request)) return goingOn();
        this.made.delete(volume.uid);
        this.zones.get(volume.uid)?.delete(volume.topology?.['svc.io/zone'] ?? '');
        return undefined;
      },
      attach: async (request) => {
        await call('attach', request.parameters['token']);
        await this.attaching;
        if (await goesOn('attach', request)) return goingOn();
        return { devicePath: '' };
      },
      detach: ({ parameters }) => call('detach', parameters['token']),
      mount: () => call('mount').then(() => ({ path: '/volume' })),
      unmount: ({ parameters }) => call('unmount', parameters['token']),
      expand: ({ sizeBytes }) =>
        call('expand').then(() => ({ sizeBytes, fileSystemPending: false })),
      createSnapshot: async (request) => {
        const { snapshot, parameters } = request;
        await call('createSnapshot', parameters['token']);
        if (await goesOn('createSnapshot', request)) return goingOn();
        this.made.add(snapshot.uid);
        return { handle: 's', restoreSizeBytes: 1n, ready: true };
      },
      observeSnapshot: async ({ isBackground = false }) => {
        this.observed.push(isBackground);
        await call('observeSnapshot');
        return { handle: 's', restoreSizeBytes: 1n, ready: true };
      },
      deleteSnapshot: async (request) => {
        const { snapshot, parameters } = request;
        await call('deleteSnapshot', parameters['token']);
        if (await goesOn('deleteSnapshot', request)) return goingOn();
        this.made.delete(snapshot.uid);
        return undefined;
      },
      restore: async ({ sizeBytes, volume, parameters }) => {
        await call('restore', parameters['token']);
        this.made.add(volume.uid);
        return { handle: 'h', sizeBytes };
      },
    };
    return {
      names: ['played'],
      onNodes: this.topologyKeys.includes(nodeTopologyKey) ? ['played'] : [],
      get: () => Promise.resolve(driver),
      credentialsOf: () => this.configured?.() ?? {},
    };
  }

  /** The token of the last call of a name; undefined without one. */
  tokenOf(name: string): string | undefined {
    return this.tokens.findLast(([call]) => call === name)?.[1];
  }
}
