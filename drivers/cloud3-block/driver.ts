import {
  type BlockProvider,
  credentialForms,
  type CallContext,
  createBlockDriver,
  type Driver,
  DriverError,
  type HandleRequest,
  type StorageSettings,
  thisNode,
} from '@kedge/driver-sdk';
import {
  inOrder,
  LinkedDevice,
  ProviderClient,
  loadedFirst,
  once,
  providerDriver,
  type Refusal,
} from '@kedge/driver-sdk/provider';
import { Cloud3Api } from './api.js';
import { Cloud3Attachments } from './attachments.js';
import { Ec2Client, elementText, isAnswerTo } from './client.js';
import { attachLimit, cloud3Errors } from './errors.js';
import { checkPermissions, findVolume, listResources } from './inspection.js';
import { Cloud3Instances } from './instances.js';
import { cloud3Parameters, combinationViolations, regionLabel, zoneLabel } from './parameters.js';
import { VolumeReads } from './reads.js';
import { loadSdk, loadSdkInTurns } from './sdk.js';
import { Cloud3Snapshots } from './snapshots.js';
import { Cloud3Volumes } from './volumes.js';

/** Once for all instances of the driver. */
const load = once(() => loadSdkInTurns());

const name = 'cloud3-block';
const providerName = 'Amazon EBS';

function refusalOf(status: number, _body: unknown, text: string): Refusal {
  return { status, code: elementText(text, 'Code'), message: elementText(text, 'Message') };
}

/** Creates the driver `cloud3-block` for Amazon EBS (specification section 2.5). Its SDK is loaded at its first call. */
export function createCloud3BlockDriver(settings: StorageSettings): Driver {
  const { deviceDirectory, timeouts, endpoint } = settings.drivers?.[name] ?? {};
  const host = settings.host ?? thisNode;
  const cluster = settings.clusterId ?? 'unknown';
  const requestTimeoutMs = timeouts?.requestMs ?? 30_000;
  const shownEndpoint = endpoint ?? 'https://ec2.<region>.amazonaws.com';
  const provider = new ProviderClient(
    {
      driver: name,
      provider: providerName,
      endpoint: shownEndpoint,
      requestTimeoutMs,
      // The provider refills its buckets by 5 and more requests a second, and permits bursts of 50 and more.
      rates: { perHour: 18_000, burstShare: 0.0025 },
      errors: cloud3Errors,
      refusal: refusalOf,
      read: (text, call) => (isAnswerTo(call.name, text) ? text : undefined),
      headers: {
        requestId: ['x-amzn-requestid', 'x-amzn-request-id', 'x-amz-request-id'],
        // The provider has no headers on its rate limit.
        limit: '',
        remaining: '',
      },
    },
    settings.providers ?? {},
  );
  const api = new Cloud3Api(
    new Ec2Client(provider, loadSdk, { endpoint, timeoutMs: requestTimeoutMs }),
  );
  const reads = new VolumeReads(api);
  const order = { driver: name, clock: provider.clock };
  const volumes = new Cloud3Volumes(api, reads, provider.clock, cluster);
  const attachments = new Cloud3Attachments(api, reads, provider.clock);
  const instances = new Cloud3Instances(api);
  const links = { directory: deviceDirectory ?? '/dev/disk/by-id', host };
  const deviceOf = ({ handle }: HandleRequest): LinkedDevice => {
    // The serial of a device is the id of its volume without the dash.
    const serial = handle.replace('-', '');
    return new LinkedDevice(links, `nvme-Amazon_Elastic_Block_Store_${serial}`, serial);
  };
  const inTurn = <T>(request: CallContext, work: () => Promise<T>): Promise<T> =>
    inOrder(order, request.volume, request.signal, work);
  /** Runs work. After NotFound the next call looks up the node's instance again. */
  const forgetting = async <R>(request: HandleRequest, work: Promise<R>): Promise<R> =>
    work.catch((error: unknown) => {
      if (error instanceof DriverError && error.kind === 'NotFound') instances.forget(request);
      throw error;
    });
  const block: BlockProvider = {
    name,
    provider: providerName,
    topologyKeys: [regionLabel, zoneLabel],
    placeParameters: { [regionLabel]: ['region'], [zoneLabel]: ['availabilityZone'] },
    requiredTopologyKeys: [zoneLabel],
    attachLimit,
    parameters: cloud3Parameters,
    wholeCredentials: credentialForms.accessKey.whole,
    validate: combinationViolations,
    create: (request) => inTurn(request, () => volumes.provision(request)),
    observe: (request) => volumes.observe(request),
    delete: (request) => inTurn(request, () => volumes.delete(request)),
    instances,
    attach: (request) =>
      inTurn(request, () =>
        forgetting(request, attachments.attach(request, deviceOf(request).link)),
      ),
    detach: (request) => inTurn(request, () => attachments.detach(request)),
    endsAttach: true,
    devicePath: (request) => deviceOf(request).path(),
    identify: (device, request) => deviceOf(request).is(device),
    hasSerial: (device, request) => deviceOf(request).hasSerial(device),
    exactSize: true,
    expansion: { online: true, grow: (request) => inTurn(request, () => volumes.grow(request)) },
    snapshots: new Cloud3Snapshots({ order, api, reads, volumes, cluster }),
  };
  const driver = createBlockDriver(block, {
    host,
    node: settings.node,
    ...(timeouts?.deviceMs === undefined ? {} : { deviceWaitMs: timeouts.deviceMs }),
  });
  const whole: Driver = {
    ...providerDriver(driver, provider),
    check: async (request) => [
      ...(await checkPermissions(api, shownEndpoint, request)),
      ...((await driver.check?.(request)) ?? []),
    ],
    orphans: (request) => listResources(api, request, cluster),
    find: (request) => findVolume(api, request),
  };
  return loadedFirst(whole, load);
}
