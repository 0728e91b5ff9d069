import type { JsonObject } from 'kedge/rpc';
import type { WorkloadMount, WorkloadSpec } from '../runtime/runtime.js';
import { limitsLabel } from './limits/changed-limits.js';
import { limitSettings } from './limits/container-limits.js';
import type { ProvidedImage } from './images/images.js';
import { networkSettings } from './network/network-settings.js';
import { engineLabels, type RunIdentity, runLabels } from './run-identity.js';
import { subPathNeedsRoot } from '../../messages/inputs.js';

/** Mount propagation from the host to the container; mounts of the container never reach the host. */
export type Propagation = 'rslave' | 'rprivate';

/** The inputs of a container besides the specification of its workload. */
export interface ContainerPlan {
  readonly spec: WorkloadSpec;
  readonly identity: RunIdentity;
  readonly image: ProvidedImage;
  /** Name of the network of the cluster. */
  readonly network: string;
  /** Address of the node on which ports are published. */
  readonly hostPortAddress: string;
  /** The mounts with their propagation, in order. */
  readonly mounts: readonly (WorkloadMount & { readonly propagation: Propagation })[];
}

/** Default capabilities of the engine that workloads rarely need and that attacks use. */
const droppedCapabilities = ['NET_RAW', 'MKNOD'];

/** The entry of `capabilities` for a workload without any capability. It adds nothing to the empty set. */
const noCapability = 'none';

function capabilitiesOf({ capabilities = [] }: WorkloadSpec): JsonObject {
  if (capabilities.length === 0) return { CapDrop: droppedCapabilities };
  const kept = capabilities.filter((name) => name !== noCapability);
  return { CapDrop: ['ALL'], CapAdd: kept.map((name) => name.toUpperCase()) };
}

function requireNoSubPath(mounts: readonly WorkloadMount[]): void {
  const inside = mounts.find(({ subPath = '' }) => subPath !== '');
  if (inside)
    throw new Error(
      `mount ${inside.target}: ${subPathNeedsRoot.format({ subPath: inside.subPath ?? '' })}; run kedged as root, or remove the subPath`,
    );
}

/**
 * Returns the configuration of a run's container in the form of the Engine API.
 * @throws Error if a mount has a subPath: the engine would follow links in it, so only a directory that the daemon has
 * bound itself is safe.
 */
export function containerConfig(plan: ContainerPlan): JsonObject {
  const { spec, identity, image, mounts } = plan;
  const { command, args = [], env, workingDir, user, init = true } = spec;
  requireNoSubPath(mounts);
  const { HostConfig: networkOfHost, ...network } = networkSettings(plan);
  const limits = limitSettings(spec.limits);
  return {
    Image: image.id,
    Labels: {
      ...runLabels(identity),
      ...limitsLabel(limits, spec.limits),
      [engineLabels.image]: image.digest,
    },
    Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
    // As in Kubernetes: a command replaces the entry point of the image, and arguments replace its command.
    ...(command.length > 0 && { Entrypoint: command, Cmd: args }),
    ...(command.length === 0 && args.length > 0 && { Cmd: args }),
    ...(workingDir !== undefined && { WorkingDir: workingDir }),
    ...(user !== undefined && { User: user }),
    HostConfig: {
      // A program that is process 1 ignores signals without a handler of its own, and may not reap zombies.
      Init: init,
      ...capabilitiesOf(spec),
      SecurityOpt: ['no-new-privileges'],
      ...limits,
      // Only Kedge restarts workloads.
      RestartPolicy: { Name: 'no' },
      // Docker 20.10 omits the last rotated file from a read since a time if the one before it is compressed and older.
      LogConfig: {
        Type: 'local',
        Config: { 'max-size': '10m', 'max-file': '3', compress: 'false' },
      },
      ...networkOfHost,
      Mounts: mounts.map(({ source, target, readOnly, propagation }) => ({
        Type: 'bind',
        Source: source,
        Target: target,
        ReadOnly: readOnly,
        BindOptions: { Propagation: propagation },
      })),
    },
    ...network,
  };
}
