import type { JsonObject } from 'kedge/rpc';
import type { WorkloadSpec } from '../../runtime/runtime.js';

/** The inputs of the network of a container. */
export interface NetworkPlan {
  readonly spec: WorkloadSpec;
  /** Name of the network of the cluster. */
  readonly network: string;
  /** Address of the node on which ports are published. */
  readonly hostPortAddress: string;
}

/** Whether a workload joins the bridge of the cluster. */
export function joinsBridge({ network = 'bridge' }: WorkloadSpec): boolean {
  return network === 'bridge';
}

/** A host name has at most 64 characters, and the name of an instance 63. */
const hostnameMax = 63;

/**
 * The host name of a container. It includes the namespace, because the engine makes it a name on the bridge, where the
 * names of different namespaces must differ. A part of a namespace would be another one, so that too long a name has
 * none.
 */
function hostnameOf({ name, namespace }: WorkloadSpec): JsonObject {
  if (name === undefined) return {};
  const full = namespace === undefined ? name : `${name}.${namespace}`;
  return { Hostname: full.length > hostnameMax ? name : full };
}

/** The network of a container in the form of the Engine API. */
export function networkSettings(plan: NetworkPlan): JsonObject & { readonly HostConfig: object } {
  const { spec, network, hostPortAddress } = plan;
  if (spec.network === 'host') return { HostConfig: { NetworkMode: 'host' } };
  if (!joinsBridge(spec)) return { ...hostnameOf(spec), HostConfig: { NetworkMode: 'none' } };
  const { name, namespace, ports = [], service } = spec;
  const bindings = ports.map(({ hostPort, port, protocol }) => [
    portKey(port, protocol),
    [{ HostIp: hostPortAddress, HostPort: String(hostPort) }],
  ]);
  return {
    ...hostnameOf(spec),
    ...(ports.length > 0 && {
      ExposedPorts: Object.fromEntries(bindings.map(([key]) => [key, {}])) as JsonObject,
    }),
    HostConfig: {
      NetworkMode: network,
      ...(ports.length > 0 && { PortBindings: Object.fromEntries(bindings) as JsonObject }),
      // A name without a dot is resolved in the namespace first, any other name unchanged.
      ...(namespace !== undefined && { DnsSearch: [namespace], DnsOptions: ['ndots:1'] }),
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

/** `80/tcp` */
function portKey(port: number, protocol: string): string {
  return `${port}/${protocol.toLowerCase()}`;
}
