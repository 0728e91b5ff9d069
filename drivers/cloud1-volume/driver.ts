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
  volumeName,
} from '@kedge/driver-sdk/provider';
import { Cloud1Api } from './api.js';
import { rejectedMessage } from './credentials.js';
import { attachLimit, cloud1Errors } from './errors.js';
import { checkScopes } from './inspection.js';
import { cloud1Parameters } from './parameters.js';
import { Cloud1Snapshots } from './snapshots.js';
import { callerOf, classCallerOf } from './requests.js';
import { findVolume, listResources } from './resources.js';
import { Cloud1Volumes } from './volumes.js';

const name = 'cloud1-volume';
const label = 'svc.io/region';

function refusalOf(status: number, body: unknown): Refusal {
  const { id, message } = (body ?? {}) as { readonly id?: unknown; readonly message?: unknown };
  return {
    status,
    code: typeof id === 'string' ? id : '',
    message: typeof message === 'string' ? message : '',
  };
}

/** Creates the driver `cloud1-volume` for DigitalOcean Block Storage (specification section 2.5). */
export function createCloud1VolumeDriver(settings: StorageSettings): Driver {
  const { deviceDirectory, timeouts, ...set } = settings.drivers?.[name] ?? {};
  const endpoint = set.endpoint ?? 'https://api.digitalocean.com';
  const host = settings.host ?? thisNode;
  const cluster = settings.clusterId ?? 'unknown';
  const client = new ProviderClient(
    {
      driver: name,
      provider: 'DigitalOcean',
      endpoint,
      requestTimeoutMs: timeouts?.requestMs ?? 30_000,
      // The provider permits 5,000 requests an hour and 250 a minute. The burst (150) and the requests of a minute at
      // the hourly rate (80) are together less than 250.
      rates: { perHour: 5_000, burstShare: 0.03 },
      errors: cloud1Errors,
      refusal: refusalOf,
      headers: {
        requestId: ['x-request-id', 'request-id'],
        limit: 'ratelimit-limit',
        remaining: 'ratelimit-remaining',
        reset: 'ratelimit-reset',
      },
      messageOf: (refusal, call, description, kind) =>
        kind === 'CredentialsRejected' ? rejectedMessage(refusal, call, description) : undefined,
    },
    settings.providers ?? {},
  );
  const api = new Cloud1Api(client);
  const volumes = new Cloud1Volumes(api, client, cluster);
  const order = { driver: name, clock: client.clock };
  const cache = new InstanceCache(client.clock);
  const listings = new SharedListings();
  const links = { directory: deviceDirectory ?? '/dev/disk/by-id', host };
  const deviceOf = ({ volume }: HandleRequest): LinkedDevice => {
    const serial = volumeName(volume);
    return new LinkedDevice(links, `scsi-0DO_Volume_${serial}`, serial);
  };
  const instances: NodeInstances = {
    lookups: [
      {
        by: 'Droplet name',
        find: (request) => {
          const caller = callerOf(request);
          const { node } = request;
          const find = (): Promise<readonly string[]> => api.dropletsNamed(caller, node);
          return cache.of(client.credential(caller.token), node, find, request.signal);
        },
      },
    ],
    place: () => 'the team of the token at DigitalOcean',
  };
  /** Runs work. After NotFound the next call looks up the node's Droplet again. */
  const forgetting = async <R>(request: HandleRequest, work: Promise<R>): Promise<R> =>
    work.catch((error: unknown) => {
      if (error instanceof DriverError && error.kind === 'NotFound')
        cache.forget(client.credential(callerOf(request).token), request.node);
      throw error;
    });
  const inTurn = <T>(request: CallContext, work: () => Promise<T>): Promise<T> =>
    inOrder(order, request.volume, request.signal, work);
  const provider: BlockProvider = {
    name,
    provider: 'DigitalOcean',
    topologyKeys: [label],
    placeParameters: { [label]: ['region'] },
    attachLimit,
    parameters: cloud1Parameters,
    wholeCredentials: credentialForms.tokenOrReference.whole,
    create: (request) => inTurn(request, () => volumes.provision(request)),
    observe: (request) => volumes.observe(request),
    delete: (request) => inTurn(request, () => volumes.delete(request)),
    instances,
    // A node that starts again needs no token for the volumes that are attached to it (specification section 2.5).
    attachedHere: async (request) => {
      if (settings.node === undefined || request.node !== settings.node) return undefined;
      if ((await request.operations.get('detach')) !== undefined) return undefined;
      const device = deviceOf(request);
      if (!(await device.isReady())) return undefined;
      await volumes.attachShown(request);
      return device.link;
    },
    attach: (request) =>
      inTurn(request, () => forgetting(request, volumes.attach(request, deviceOf(request).link))),
    detach: (request) => inTurn(request, () => volumes.detach(request)),
    devicePath: (request) => deviceOf(request).path(),
    identify: (device, request) => deviceOf(request).is(device),
    hasSerial: (device, request) => deviceOf(request).hasSerial(device),
    exactSize: true,
    expansion: {
      online: true,
      grow: (request) => inTurn(request, () => volumes.grow(request)),
    },
    snapshots: new Cloud1Snapshots(order, volumes),
  };
  const driver = createBlockDriver(provider, {
    host,
    node: settings.node,
    ...(timeouts?.deviceMs === undefined ? {} : { deviceWaitMs: timeouts.deviceMs }),
  });
  return {
    ...providerDriver(driver, client),
    check: async (request) => [
      ...(await checkScopes(api, endpoint, request)),
      ...((await driver.check?.(request)) ?? []),
    ],
    orphans: async (request) =>
      listings.of(request, client.credential(classCallerOf(request).token), () =>
        listResources(api, request, cluster, label),
      ),
    find: (request) => findVolume(api, request, label),
  };
}
