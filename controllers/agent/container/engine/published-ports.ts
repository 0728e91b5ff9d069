import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';

/** A port of the host that the engine publishes for a container. */
export interface EnginePort {
  /** Address of the host. */
  readonly address: string;
  readonly hostPort: number;
  /** Port of the container. */
  readonly port: number;
  readonly protocol: 'TCP' | 'UDP';
}

const protocols: Readonly<Record<string, EnginePort['protocol']>> = { tcp: 'TCP', udp: 'UDP' };

/** Reads the ports of an inspected container: `{"80/tcp": [{"HostIp": "127.0.0.1", "HostPort": "8080"}]}`. */
export function publishedPorts(ports: JsonObject): readonly EnginePort[] {
  return Object.entries(ports).flatMap(([key, bindings]) => {
    const [port, protocol] = [Number.parseInt(key, 10), protocols[key.replace(/^\d+\//, '')]];
    // An exposed port that is not published has null.
    if (!protocol || !Array.isArray(bindings)) return [];
    return (bindings as readonly unknown[]).filter(isJsonObject).flatMap((binding) => {
      const hostPort = Number(textOf(binding, 'HostPort'));
      const address = textOf(binding, 'HostIp');
      return hostPort > 0 ? [{ address, hostPort, port, protocol }] : [];
    });
  });
}

/** The addresses of a container, by the name of the network. @param networks `NetworkSettings.Networks` of its inspection */
export function networkAddresses(networks: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(
    Object.entries(networks).flatMap(([name, network]) => {
      const address = isJsonObject(network) ? textOf(network, 'IPAddress') : '';
      return address === '' ? [] : [[name, address]];
    }),
  );
}
