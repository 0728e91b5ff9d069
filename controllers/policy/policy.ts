import type { BackoffOptions, FieldViolation } from 'kedge';

/** One number of the policy. Values are whole numbers from `least` to `most`, both included. */
export interface PolicyValue {
  readonly unit: 'milliseconds' | 'percent' | 'attempts';
  readonly fallback: number;
  readonly least: number;
  readonly most: number;
  readonly meaning: string;
}

/** Below this a retry is a hot loop, milliseconds. */
const leastWaitMs = 10;
const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** Declares a value that is a delay in milliseconds, at most a day. */
function wait(fallback: number, meaning: string, least = leastWaitMs): PolicyValue {
  return { unit: 'milliseconds', fallback, least, most: 24 * hour, meaning };
}

/**
 * The configurable retry and probe intervals of controllers, the node agent and the daemon's loops: their names, units,
 * defaults and ranges. Fixed intervals, such as those of an engine's connection, stand beside their use.
 */
export const policyValues = {
  driverBackoffBaseMs: wait(second, 'first backoff after a failed driver call'),
  driverBackoffMaxMs: wait(5 * minute, 'longest backoff after a failed driver call'),
  objectBackoffBaseMs: wait(
    100,
    'first backoff after a failed reconcile of an object without a driver',
  ),
  objectBackoffMaxMs: wait(
    minute,
    'longest backoff after a failed reconcile of an object without a driver',
  ),
  startBackoffBaseMs: wait(500, 'first backoff after a failed start of a workload'),
  startBackoffMaxMs: wait(minute, 'longest backoff after a failed start of a workload'),
  restartBackoffBaseMs: wait(second, 'first backoff before an ended workload is restarted'),
  restartBackoffMaxMs: wait(5 * minute, 'longest backoff before an ended workload is restarted'),
  teardownBackoffBaseMs: wait(100, 'first backoff after a failed release of a volume at shutdown'),
  teardownBackoffMaxMs: wait(
    2 * second,
    'longest backoff after a failed release of a volume at shutdown',
  ),
  jitterPercent: {
    unit: 'percent',
    fallback: 20,
    least: 0,
    most: 80,
    meaning: 'jitter of the backoffs above, except those of the shutdown',
  },
  driverAttemptsMax: {
    unit: 'attempts',
    fallback: 10,
    least: 1,
    most: 1_000,
    meaning: 'failed attempts to create a volume or snapshot after which it is Failed',
  },
  restartHealthyMs: wait(
    10 * minute,
    'run time after which a workload is restarted with the first backoff again',
  ),
  failedRecheckMs: wait(
    15 * minute,
    'retry interval of a Failed volume without a handle, and of a place without capacity',
    minute,
  ),
  stalledProbeMs: wait(
    30 * second,
    'shortest probe interval of the outcome of a Stalled volume',
    second,
  ),
  volumeUsageMs: wait(minute, 'measuring interval of the space that mounted volumes use', second),
  volumeFilesMs: wait(
    10 * minute,
    'measuring interval of the files of directory volumes, which reads all their directories',
    second,
  ),
  imageDiskCheckMs: wait(5 * minute, "probe interval of the disk with the engine's images", second),
  existenceProbeMs: wait(
    hour,
    'probe interval of the existence of volumes and snapshots at the provider, with 20 % jitter',
    minute,
  ),
  lostProbeMs: wait(15 * minute, 'probe interval of a lost volume', second),
  lossConfirmMs: wait(
    30 * second,
    'time until the second probe that confirms the loss of a volume or snapshot',
    second,
  ),
  snapshotPollMs: wait(
    5 * second,
    'probe interval of a snapshot that the provider is creating',
    100,
  ),
  snapshotTimeoutMs: wait(
    15 * minute,
    'time limit of one reconcile of a snapshot, including its copy',
    second,
  ),
  namespaceRecheckMs: wait(
    30 * second,
    'probe interval of a namespace that is being deleted',
    second,
  ),
  storageRootProbeMs: wait(5 * second, 'probe interval of the storage root', 100),
  volumeSoftTimeoutMs: wait(
    2 * second,
    'time after which work on a volume continues in the background and its instance reports it',
    100,
  ),
  volumeTimeoutMs: wait(10 * minute, 'time limit of one operation of a node on a volume', second),
  heartbeatMs: wait(10 * second, 'heartbeat interval of the node', second),
  nodeSilentMs: wait(
    40 * second,
    'time without a heartbeat after which a node is NotReady',
    2 * second,
  ),
  nodeGoneMs: wait(
    minute,
    'time without its object after which a node counts as deleted: its volumes are detached',
    2 * second,
  ),
  workloadProbeMs: wait(
    30 * second,
    'probe interval of a running workload, in addition to exit notifications',
    100,
  ),
  containerStartTimeoutMs: wait(
    2 * minute,
    'time limit of the start of a container; if the engine does not answer for half of it, the processes of the start are killed',
    10 * second,
  ),
  startingProbeMs: wait(
    500,
    'first probe interval of a starting workload, in addition to notifications; it doubles up to workloadProbeMs',
    100,
  ),
  processPollMs: wait(
    100,
    'longest probe interval of a process that is starting, and of a workload that was killed',
  ),
  stoppingProbeMs: wait(
    5 * second,
    'probe interval of a stopping workload, in addition to exit notifications',
    100,
  ),
  logProbeMs: wait(250, 'probe interval of a followed log that does not exist yet'),
  eventRetryMs: wait(second, 'wait before a failed watch for events is restarted', 100),
} as const satisfies Readonly<Record<string, PolicyValue>>;

/** Names of the policy's values. */
export type PolicyName = keyof typeof policyValues;

/** The policy of controllers. */
export type ControllerPolicy = { readonly [N in PolicyName]: number };

const names = Object.keys(policyValues) as readonly PolicyName[];

/** The default policy. */
export const defaultPolicy: ControllerPolicy = policyOf((name) => policyValues[name].fallback);

function policyOf(value: (name: PolicyName) => number): ControllerPolicy {
  return Object.fromEntries(names.map((name) => [name, value(name)])) as ControllerPolicy;
}

type BackoffName<N> = N extends `${infer B}BackoffBaseMs` ? B : never;

/** The names of backoffs, with `<name>BackoffBaseMs` and `<name>BackoffMaxMs`. */
export type Backoff = BackoffName<PolicyName>;

/** One of the policy's backoffs, with its jitter. */
export function backoffOf(policy: ControllerPolicy, name: Backoff): BackoffOptions {
  return {
    baseMs: policy[`${name}BackoffBaseMs`],
    maxMs: policy[`${name}BackoffMaxMs`],
    jitter: policy.jitterPercent / 100,
  };
}

/** Key of a value in the configuration. */
export function policyKey(name: PolicyName): string {
  return `controllers.${name}`;
}

/** Keys of all values in the configuration. */
export const policyKeys: readonly string[] = names.map(policyKey);

/** A policy, or all violations. */
export type ReadPolicy =
  | { readonly type: 'valid'; readonly policy: ControllerPolicy }
  | { readonly type: 'invalid'; readonly violations: readonly FieldViolation[] };

/** Reads a policy from configured values by key; undefined selects the default. Environment variables are strings. */
export function readPolicy(given: (key: string) => unknown): ReadPolicy {
  const violations: FieldViolation[] = [];
  const policy = policyOf((name) => {
    const key = policyKey(name);
    const { fallback, least, most, unit }: PolicyValue = policyValues[name];
    const value = given(key);
    if (value === undefined) return fallback;
    const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
    if (typeof number === 'number' && Number.isInteger(number) && number >= least && number <= most)
      return number;
    const description = `${JSON.stringify(value)} must be a whole number from ${least} to ${most} ${unit}; the default is ${fallback}`;
    violations.push({ field: key, description });
    return fallback;
  });
  if (violations.length === 0)
    violations.push(
      ...names.flatMap((name) => backoffViolations(policy, name)),
      ...timeoutViolations(policy),
      ...jitterViolations(policy),
    );
  return violations.length === 0 ? { type: 'valid', policy } : { type: 'invalid', violations };
}

/** The violation of a backoff whose base exceeds its maximum. */
function backoffViolations(policy: ControllerPolicy, name: PolicyName): readonly FieldViolation[] {
  const [, backoff] = /^(.+)BackoffBaseMs$/.exec(name) ?? [];
  if (backoff === undefined) return [];
  const { baseMs, maxMs } = backoffOf(policy, backoff as Backoff);
  if (baseMs <= maxMs) return [];
  const longest = policyKey(`${backoff as Backoff}BackoffMaxMs`);
  const description = `${baseMs} must not be above ${longest}, which is ${maxMs}; lower it, or raise ${longest}`;
  return [{ field: policyKey(name), description }];
}

/** Backoffs with jitter. */
const spread = ['driver', 'object', 'start', 'restart'] as const satisfies readonly Backoff[];

/** The violation of a jitter that reduces a backoff below the minimum. The maximum is jittered too. */
function jitterViolations(policy: ControllerPolicy): readonly FieldViolation[] {
  const percent = policy.jitterPercent;
  return spread.flatMap((name) => {
    const { baseMs, maxMs } = backoffOf(policy, name);
    const leastMs = (Math.min(baseMs, (maxMs * 100) / (100 + percent)) * (100 - percent)) / 100;
    if (leastMs >= leastWaitMs) return [];
    const base = policyKey(`${name}BackoffBaseMs`);
    const longest = policyKey(`${name}BackoffMaxMs`);
    const description = `${percent} reduces waits of ${base} to ${Math.floor(leastMs)} ms, and the minimum is ${leastWaitMs} ms; lower it, or raise ${base} and ${longest}`;
    return [{ field: policyKey('jitterPercent'), description }];
  });
}

/** The violation of a node timeout that one late heartbeat would exceed. */
function timeoutViolations(policy: ControllerPolicy): readonly FieldViolation[] {
  const leastMs = 2 * policy.heartbeatMs;
  const tooShort = (['nodeSilentMs', 'nodeGoneMs'] as const).filter(
    (name) => policy[name] < leastMs,
  );
  return tooShort.map((name) => ({
    field: policyKey(name),
    description: `${policy[name]} must be at least ${leastMs}, twice ${policyKey('heartbeatMs')}; raise it, or lower ${policyKey('heartbeatMs')}`,
  }));
}
