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
  loadedFirst,
  once,
  ProviderClient,
  providerDriver,
} from '@kedge/driver-sdk/provider';
import { Cloud4Api } from './api.js';
import { Cloud4Attachments } from './attachments.js';
import { Authorizations } from './authorization.js';
import { Cloud4Disks } from './disks.js';
import { attachLimit, cloud4Errors, refusalOf } from './errors.js';
import { checkPermissions, findDisk, listResources } from './inspection.js';
import { diskPathOf, isResourceName, noInstance, type Place } from './names.js';
import { cloud4Parameters, zoneLabel, zoneViolations } from './parameters.js';
import { ifFound, Requests } from './requests.js';
import type { Sdk } from './sdk.js';
import { loadSdk, loadSdkInTurns } from './sdk-load.js';
import { Session } from './session.js';
import { Cloud4Snapshots } from './snapshots.js';

/** The SDK, once for all instances of the driver. */
let loaded: Sdk | undefined;
const load = once(async () => (loaded ??= await loadSdkInTurns()));

const name = 'cloud4-disk';
/**
 * The serial of every persistent disk on machine types with NVMe, such as C3 and N4. Their disks differ only in the
 * data of their namespaces, from which Google's udev rules make the link.
 */
const nvmeSerials = ['nvme_card-pd'];
const requestMsDefault = 30_000;

/** Creates the driver `cloud4-disk` for Google Persistent Disk (specification section 2.5). */
export function createCloud4DiskDriver(settings: StorageSettings): Driver {
  const { deviceDirectory, timeouts, ...set } = settings.drivers?.[name] ?? {};
  const endpoint = set.endpoint ?? 'https://compute.googleapis.com';
  const requestTimeoutMs = timeouts?.requestMs ?? requestMsDefault;
  const host = settings.host ?? thisNode;
  // Loaded before the first call, and not by the start of kedged.
  const sdk = (): Sdk => (loaded ??= loadSdk());
  const client = new ProviderClient(
    {
      driver: name,
      provider: 'Google Cloud',
      endpoint,
      requestTimeoutMs,
      // 20 requests a second of a project (hail-is/hail#10434); no header contains the limit.
      rates: { perHour: 72_000, burstShare: 0.001 },
      errors: cloud4Errors,
      refusal: refusalOf,
      headers: {
        requestId: ['x-request-id', 'x-goog-request-id'],
        limit: 'x-ratelimit-limit',
        remaining: 'x-ratelimit-remaining',
      },
    },
    settings.providers ?? {},
  );
  const authorizations = new Authorizations({
    clock: client.clock,
    timeoutMs: requestTimeoutMs,
    sdk: () => sdk().auth,
  });
  const api = new Cloud4Api(new Session(client, authorizations, () => sdk().compute));
  const requests = new Requests(api, client, authorizations, settings.clusterId ?? 'unknown');
  const disks = new Cloud4Disks(requests);
  const attachments = new Cloud4Attachments(requests, disks);
  const order = { driver: name, clock: client.clock };
  const cache = new InstanceCache(client.clock);
  const links = { directory: deviceDirectory ?? '/dev/disk/by-id', host };
  const deviceOf = ({ handle }: HandleRequest): LinkedDevice => {
    const disk = diskPathOf(handle)?.name ?? handle;
    return new LinkedDevice(links, `google-${disk}`, disk, nvmeSerials);
  };
  const placeOf = ({ handle }: HandleRequest): Place =>
    diskPathOf(handle) ?? { project: 'unknown', zone: 'unknown' };
  const keyOf = (request: HandleRequest): string => {
    const { project, zone } = placeOf(request);
    return `${project} ${zone} ${requests.callerOf(request).identity.id}`;
  };
  const instances: NodeInstances = {
    lookups: [
      {
        by: 'instance name',
        find: async (request) => {
          const { node } = request;
          if (!isResourceName(node) || !diskPathOf(request.handle)) return [];
          return cache.of(keyOf(request), node, async () => {
            const caller = requests.callerOf(request);
            const found = await ifFound(api.instance(caller, placeOf(request), node));
            return found ? [found.name] : [];
          });
        },
      },
    ],
    place: (request) => `zone ${placeOf(request).zone} of project ${placeOf(request).project}`,
    absent: (request) => noInstance(request.node, placeOf(request)),
  };
  /** Runs work. After NotFound the next call looks up the node's instance again. */
  const forgetting = async <R>(request: HandleRequest, work: Promise<R>): Promise<R> =>
    work.catch((error: unknown) => {
      if (error instanceof DriverError && error.kind === 'NotFound')
        cache.forget(keyOf(request), request.node);
      throw error;
    });
  const inTurn = <T>(request: CallContext, work: () => Promise<T>): Promise<T> =>
    inOrder(order, request.volume, request.signal, work);
  const provider: BlockProvider = {
    name,
    provider: 'Google Persistent Disk',
    accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
    topologyKeys: [zoneLabel],
    placeParameters: { [zoneLabel]: ['zone'] },
    requiredTopologyKeys: [zoneLabel],
    attachLimit,
    parameters: cloud4Parameters,
    wholeCredentials: credentialForms.serviceAccount.whole,
    validate: zoneViolations,
    create: (request) => inTurn(request, () => disks.create(request, 'provision')),
    observe: (request) => disks.observe(request),
    delete: (request) => inTurn(request, () => disks.delete(request)),
    instances,
    attach: (request) =>
      inTurn(request, () =>
        forgetting(request, attachments.attach(request, deviceOf(request).link)),
      ),
    detach: (request) => inTurn(request, () => attachments.detach(request)),
    devicePath: (request) => deviceOf(request).path(),
    identify: (device, request) => deviceOf(request).is(device),
    hasSerial: (device, request) => deviceOf(request).hasSerial(device),
    exactSize: true,
    expansion: {
      online: true,
      grow: (request) => inTurn(request, () => disks.grow(request)),
    },
    snapshots: new Cloud4Snapshots(order, requests, disks),
  };
  const driver = createBlockDriver(provider, {
    host,
    node: settings.node,
    ...(timeouts?.deviceMs === undefined ? {} : { deviceWaitMs: timeouts.deviceMs }),
  });
  const whole: Driver = {
    ...providerDriver(driver, client),
    check: async (request) => [
      ...(await checkPermissions({ requests, endpoint, sdk }, request)),
      ...((await driver.check?.(request)) ?? []),
    ],
    orphans: (request) => listResources(requests, request),
    find: (request) => findDisk(requests, request),
  };
  return loadedFirst(whole, load);
}
