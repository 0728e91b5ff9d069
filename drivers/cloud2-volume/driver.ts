import {
  type BlockProvider,
  credentialForms,
  type CallContext,
  createBlockDriver,
  type Driver,
  DriverError,
  type HandleRequest,
  type NodeInstances,
  type StorageSettings,
  thisNode,
} from '@kedge/driver-sdk';
import {
  inOrder,
  InstanceCache,
  LinkedDevice,
  ProviderClient,
  providerDriver,
  type Refusal,
  SharedListings,
} from '@kedge/driver-sdk/provider';
import { Cloud2Api } from './api.js';
import { attachLimit, cloud2Errors } from './errors.js';
import { checkToken, findVolume, listResources } from './inspection.js';
import { cloud2Parameters, locationViolations } from './parameters.js';
import { callerOf, classCallerOf } from './requests.js';
import { Cloud2Volumes } from './volumes.js';

const name = 'cloud2-volume';
const label = 'svc.io/region';
const deviceMsDefault = 30_000;
const locationsMax = 10_000;

function refusalOf(status: number, body: unknown): Refusal {
  const { error } = (body ?? {}) as { readonly error?: unknown };
  const { code, message } = (error ?? {}) as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  return {
    status,
    code: typeof code === 'string' ? code : '',
    message: typeof message === 'string' ? message : '',
  };
}

/** The `cloud2-volume` driver: Hetzner Cloud Volumes (specification section 2.5). */
export function createCloud2VolumeDriver(settings: StorageSettings): Driver {
  const { deviceDirectory, timeouts, ...set } = settings.drivers?.[name] ?? {};
  const endpoint = set.endpoint ?? 'https://api.hetzner.cloud';
  const host = settings.host ?? thisNode;
  const cluster = settings.clusterId ?? 'unknown';
  const deviceMs = timeouts?.deviceMs ?? deviceMsDefault;
  const client = new ProviderClient(
    {
      driver: name,
      provider: 'Hetzner Cloud',
      endpoint,
      requestTimeoutMs: timeouts?.requestMs ?? 30_000,
      rates: { perHour: 3_600, burstShare: 0.05 },
      errors: cloud2Errors,
      refusal: refusalOf,
      headers: {
        requestId: ['x-correlation-id', 'x-request-id'],
        limit: 'ratelimit-limit',
        remaining: 'ratelimit-remaining',
        // Not ratelimit-reset: it says when the whole limit is back. One request a second comes back before that.
      },
    },
    settings.providers ?? {},
  );
  const api = new Cloud2Api(client);
  const volumes = new Cloud2Volumes(api, client, cluster);
  const order = { driver: name, clock: client.clock };
  const cache = new InstanceCache(client.clock);
  const listings = new SharedListings();
  /** Locations of servers by the id of the server. */
  const locations = new Map<string, string>();
  const links = { directory: deviceDirectory ?? '/dev/disk/by-id', host };
  const deviceOf = ({ handle }: HandleRequest): LinkedDevice =>
    new LinkedDevice(links, `scsi-0HC_Volume_${handle}`, handle);
  const find = async (request: HandleRequest): Promise<readonly string[]> => {
    const caller = callerOf(request);
    const { node } = request;
    const ask = async (): Promise<readonly string[]> => {
      const servers = await api.serversNamed(caller, node);
      if (locations.size > locationsMax) locations.clear();
      for (const { id, location } of servers) if (location !== '') locations.set(id, location);
      return servers.map(({ id }) => id);
    };
    return cache.of(client.credential(caller.token), node, ask, request.signal);
  };
  const instances: NodeInstances = {
    lookups: [{ by: 'server name', find }],
    place: () => 'the project of the token at Hetzner Cloud',
  };
  const inTurn = <T>(request: CallContext, work: () => Promise<T>): Promise<T> =>
    inOrder(order, request.volume, request.signal, work);
  const provider: BlockProvider = {
    name,
    provider: 'Hetzner Cloud',
    topologyKeys: [label],
    placeParameters: { [label]: ['location', 'region'] },
    attachLimit,
    parameters: cloud2Parameters,
    wholeCredentials: credentialForms.token.whole,
    validate: locationViolations,
    create: (request) => inTurn(request, () => volumes.provision(request)),
    observe: (request) => volumes.observe(request),
    delete: (request) => inTurn(request, () => volumes.delete(request)),
    instances,
    attach: (request) => {
      const device = deviceOf(request);
      const isHere = settings.node !== undefined && request.node === settings.node;
      const place = {
        link: device.link,
        appeared: () => (isHere ? device.isReady() : Promise.resolve(true)),
        deviceMs,
        location: locations.get(request.instance),
        requireUnmounted: async () => {
          if (await request.isMounted())
            throw await device.mountedUnready(`volume ${request.handle}`);
        },
      };
      return inTurn(request, () => volumes.attach(request, place)).catch((error: unknown) => {
        if (error instanceof DriverError && error.kind === 'NotFound')
          cache.forget(client.credential(callerOf(request).token), request.node);
        throw error;
      });
    },
    detach: (request) => inTurn(request, () => volumes.detach(request)),
    devicePath: (request) => deviceOf(request).path(),
    identify: (device, request) => deviceOf(request).is(device),
    hasSerial: (device, request) => deviceOf(request).hasSerial(device),
    exactSize: true,
    expansion: {
      online: false,
      grow: (request) => inTurn(request, () => volumes.grow(request)),
    },
  };
  const driver = createBlockDriver(provider, {
    host,
    node: settings.node,
    deviceWaitMs: deviceMs,
  });
  return {
    ...providerDriver(driver, client),
    check: async (request) => [
      ...(await checkToken(api, endpoint, request)),
      ...((await driver.check?.(request)) ?? []),
    ],
    orphans: async (request) =>
      listings.of(request, client.credential(classCallerOf(request).token), () =>
        listResources(api, request, cluster, label),
      ),
    find: (request) => findVolume(api, request, label),
  };
}
