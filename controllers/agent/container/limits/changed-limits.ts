import { canonicalQuantity } from 'kedge/objects';
import { type JsonObject, isJsonObject } from 'kedge/rpc';
import { limitsUnsupported } from '../../../messages/starts.js';
import type { ResourceLimits } from '../../../resources/index.js';
import { periodMicroseconds } from '../../runtime/cpu-shares.js';
import type { ContainerInspection } from '../engine/engine-containers.js';
import { type ContainerLimits, limitsIn } from '../engine/engine-limits.js';
import { engineLabels } from '../run-identity.js';

/** The limits that a container was created with. */
interface CreatedLimits extends ContainerLimits {
  /** Whether the limit of processes is the default, because the service did not request one. */
  readonly isPidsDefault?: boolean;
}

/**
 * The label with the limits of a container, which {@link changedLimits} compares.
 * @param limits those of the service
 */
export function limitsLabel(
  hostConfig: JsonObject,
  { pids }: ResourceLimits = {},
): Readonly<Record<string, string>> {
  const created: CreatedLimits = {
    ...limitsIn(hostConfig),
    ...(pids === undefined && { isPidsDefault: true }),
  };
  return { [engineLabels.limits]: JSON.stringify(created) };
}

/** The limits that a container was created with; undefined for one of an earlier release. */
function limitsOnLabel(label: string): CreatedLimits | undefined {
  try {
    const value: unknown = JSON.parse(label);
    if (!isJsonObject(value) || !fields.every((field) => typeof value[field] === 'number'))
      return undefined;
    return value as unknown as CreatedLimits;
  } catch {
    // No label (a container of an earlier release), or a label that Kedge did not write.
    return undefined;
  }
}

/** A limit in messages, and the flags of `docker update` that set it. */
interface Shown {
  readonly name: string;
  readonly text: (value: number) => string;
  readonly flags: (value: number) => readonly string[];
}

const bytes = (value: number): string => canonicalQuantity(`${value / 1_024}Ki`) ?? String(value);
const ofMemory = ({ memoryBytes, memoryAndSwapBytes }: ContainerLimits): readonly string[] => [
  `--memory ${memoryBytes}`,
  `--memory-swap ${memoryAndSwapBytes}`,
];

const shown: Readonly<Record<keyof ContainerLimits, Shown>> = {
  cpuMillis: {
    name: 'cpu',
    text: (value) => `${value}m`,
    // With the period, which may be what was changed.
    flags: (value) => [
      `--cpu-period ${periodMicroseconds}`,
      `--cpu-quota ${(value * periodMicroseconds) / 1_000}`,
    ],
  },
  cpuShares: { name: 'cpu shares', text: String, flags: (value) => [`--cpu-shares ${value}`] },
  memoryBytes: { name: 'memory', text: bytes, flags: () => [] },
  memoryAndSwapBytes: { name: 'memory with swap', text: bytes, flags: () => [] },
  pids: { name: 'pids', text: String, flags: (value) => [`--pids-limit ${value}`] },
};

const fields = Object.keys(shown) as readonly (keyof ContainerLimits)[];

/** Whether the limit of a field differs from the wanted one. */
function differs(
  field: keyof ContainerLimits,
  wanted: ContainerLimits,
  found: ContainerLimits,
): boolean {
  // Without a wanted limit the engine may compute one from that of memory. A kernel that does not count swap has none.
  if (field === 'memoryAndSwapBytes' && (wanted[field] === 0 || found[field] === 0)) return false;
  return wanted[field] !== found[field];
}

type Limited = Pick<ContainerInspection, 'labels' | 'limits'>;

/** A limit of containers that an engine may support or not. */
export type LimitField = keyof ContainerLimits;

/** The limits that a container was created with and that the engine does not report for it. */
export function missingLimits({ labels, limits }: Limited): readonly LimitField[] {
  const wanted = limitsOnLabel(labels[engineLabels.limits] ?? '');
  return fields.filter((field) => wanted && limits[field] === 0 && wanted[field] > 0);
}

/** The names of the limits that the service requests and the engine does not enforce; undefined if it enforces all. */
export function unenforcedLimits(found: Limited): string | undefined {
  const wanted = limitsOnLabel(found.labels[engineLabels.limits] ?? '');
  // The limit of swap is that of memory. A kernel that does not count swap has none.
  const names = missingLimits(found)
    .filter((field) => field !== 'memoryAndSwapBytes')
    .filter((field) => field !== 'pids' || wanted?.isPidsDefault !== true)
    .map((field) => shown[field].name);
  return names.length === 0 ? undefined : names.join(', ');
}

/**
 * Describes the limits of a running container that its service requests and its engine does not support; undefined if
 * there are none.
 * @param unsupported limits that the engine does not support
 */
export function unsupportedLimits(
  found: Limited,
  unsupported: readonly LimitField[],
): string | undefined {
  const limits = Object.fromEntries(
    fields.map((field) => [field, unsupported.includes(field) ? found.limits[field] : 1]),
  ) as unknown as ContainerLimits;
  const names = unenforcedLimits({ ...found, limits });
  return names === undefined
    ? undefined
    : `limits of ${names} ${limitsUnsupported.format()}; boot one that has them, choose another node (nodeSelector), or remove the limits`;
}

/**
 * Describes how the limits of a running container differ from those that it was created with, for example after
 * `docker update`; undefined if they do not. The message has the command that restores them, if the engine has one: a
 * limit that was added can't be removed again.
 * @param found the limits that are enforced
 * @param unsupported limits that the engine does not support, which are not compared
 */
export function changedLimits(
  { id, name, labels, limits: found }: Limited & Pick<ContainerInspection, 'id' | 'name'>,
  unsupported: readonly LimitField[] = [],
): string | undefined {
  const wanted = limitsOnLabel(labels[engineLabels.limits] ?? '');
  if (!wanted) return undefined;
  const changed = fields.filter(
    (field) => !unsupported.includes(field) && differs(field, wanted, found),
  );
  if (changed.length === 0) return undefined;
  const text = (field: LimitField, value: number): string =>
    value === 0 ? 'no limit' : shown[field].text(value);
  const differences = changed.map(
    (field) =>
      `${shown[field].name} ${text(field, found[field])} instead of ${text(field, wanted[field])}`,
  );
  const flags = [
    ...(changed.some((field) => field.startsWith('memory')) ? ofMemory(wanted) : []),
    ...changed.flatMap((field) => shown[field].flags(wanted[field])),
  ];
  const restores = changed.every((field) => wanted[field] > 0)
    ? `docker update ${flags.join(' ')} ${name} restores them, as does a restart of the instance`
    : 'a restart of the instance restores them';
  return `container ${id.slice(0, 12)} runs with ${differences.join(', ')}, and not by Kedge; ${restores}`;
}
