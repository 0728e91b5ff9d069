import { type Clock, systemClock } from 'kedge';
import type { Token } from '../../core/machine.js';
import { serveEmulator, type EmulatorServer } from '../../core/server.js';
import type { RunningEmulator } from '../../index.js';
import { InstanceMetadata } from './metadata.js';

/** A listening metadata service. Its endpoint is the value of `AWS_EC2_METADATA_SERVICE_ENDPOINT`. */
export interface RunningMetadata extends EmulatorServer {
  readonly metadata: InstanceMetadata;
}

/** Options of {@link serveMetadata}. */
export interface ServedMetadata {
  /** The emulator of cloud3 that has the instance. */
  readonly running: Pick<RunningEmulator, 'save'>;
  /** The name of the instance. */
  readonly node: string;
  /** The access key of the instance's role; undefined for an instance without a role. */
  readonly role?: () => Token | undefined;
  /** Default: the clock of the system. */
  readonly clock?: Clock;
  /** Default: a free port. */
  readonly port?: number;
}

interface SavedServers {
  readonly servers: readonly {
    readonly id: string;
    readonly name: string;
    readonly place: string;
    readonly privateDns: string;
    readonly state: string;
  }[];
}

/** Serves the metadata of an instance of an emulator on the loopback address. */
export async function serveMetadata(options: ServedMetadata): Promise<RunningMetadata> {
  const { running, node, role, clock = systemClock, port = 0 } = options;
  const metadata = new InstanceMetadata({
    clock,
    instance: () =>
      (running.save() as SavedServers).servers.find(
        (one) => one.name === node && one.state === 'running',
      ),
    role: () => {
      const token = role?.();
      return token ? { name: `${node}-role`, token } : undefined;
    },
  });
  return { metadata, ...(await serveEmulator(metadata, port)) };
}
