import type { JsonObject } from 'kedge/rpc';
import type { WorkloadMount, WorkloadSpec } from '../runtime/runtime.js';
import { type RunIdentity, runLabels } from './run-identity.js';

/** How changes among the mounts below a source reach the container, and never the other way. */
export type Propagation = 'rslave' | 'rprivate';

/** What a container is made of beside what its workload says. */
export interface ContainerPlan {
  readonly spec: WorkloadSpec;
  readonly identity: RunIdentity;
  /** Id of the image. */
  readonly image: string;
  /** Id or name of the network of the cluster. */
  readonly network: string;
  /** The sources of the mounts, with their propagation, in order. */
  readonly mounts: readonly (WorkloadMount & { readonly propagation: Propagation })[];
}

/** Of the engine's default capabilities, those that nobody needs and attacks do. */
const droppedCapabilities = ['NET_RAW', 'MKNOD'];
/** Processes and threads of a workload that says nothing. */
const pidsMax = 4_096;

/** Stands alone for no capability at all. */
const noCapability = 'none';

function capabilitiesOf({ capabilities = [] }: WorkloadSpec): JsonObject {
  if (capabilities.length === 0) return { CapDrop: droppedCapabilities };
  const kept = capabilities.filter((name) => name !== noCapability);
  return { CapDrop: ['ALL'], CapAdd: kept.map((name) => name.toUpperCase()) };
}

/** The container of a run, as the Engine API has it. */
export function containerConfig(plan: ContainerPlan): JsonObject {
  const { spec, identity, image, mounts, network } = plan;
  const { command, args = [], env, workingDir, user, namespace, name, service } = spec;
  return {
    Image: image,
    Labels: runLabels(identity),
    Env: Object.entries(env).map(([key, value]) => `${key}=${value}`),
    // As Kubernetes has it: a command takes the place of the image's entry point, arguments of its command.
    ...(command.length > 0 && { Entrypoint: command, Cmd: args }),
    ...(command.length === 0 && args.length > 0 && { Cmd: args }),
    ...(workingDir !== undefined && { WorkingDir: workingDir }),
    ...(user !== undefined && { User: user }),
    // A host name has at most 63 characters.
    ...(name !== undefined && { Hostname: name.slice(0, 63) }),
    HostConfig: {
      // A shell as process 1 hears no SIGTERM, and reaps nobody.
      Init: true,
      ...capabilitiesOf(spec),
      SecurityOpt: ['no-new-privileges'],
      PidsLimit: pidsMax,
      // Only Kedge restarts.
      RestartPolicy: { Name: 'no' },
      LogConfig: { Type: 'local', Config: { 'max-size': '10m', 'max-file': '3' } },
      NetworkMode: network,
      ...(namespace !== undefined && { DnsSearch: [namespace], DnsOptions: ['ndots:1'] }),
      Mounts: mounts.map(({ source, target, readOnly, propagation }) => ({
        Type: 'bind',
        Source: source,
        Target: target,
        ReadOnly: readOnly,
        BindOptions: { Propagation: propagation },
      })),
    },
    NetworkingConfig: {
      EndpointsConfig: {
        [network]: {
          Aliases: [name, service].flatMap((alias) =>
            alias === undefined || namespace === undefined ? [] : [`${alias}.${namespace}`],
          ),
        },
      },
    },
  };
}
