import { dirname, join } from 'node:path';
import { type Clock, type Manager, seededRandom } from 'kedge';
import {
  Agent,
  agentOfStore,
  DataFiles,
  dataFilesDirectory,
  defaultPolicy,
  NodeRegistration,
  type Runtime,
  type Sealer,
  snapshotController,
  volumeController,
  VolumeManager,
} from '@kedge/controllers';

/** The parts of a node of a world. */
export type WorldNodeParts = Omit<ConstructorParameters<typeof VolumeManager>[0], 'mountRoot'> & {
  readonly manager: Manager;
  readonly clock: Clock;
  readonly directory: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly runtime: Runtime;
  readonly sealer: Sealer;
};

/** Adds registration, agent and controllers of a node to its process. */
export function addNode({ directory, labels, runtime, sealer, ...common }: WorldNodeParts): void {
  const random = seededRandom(2);
  const volumeManager = new VolumeManager({
    ...common,
    mountRoot: join(directory, 'mounts'),
    mayMount: false,
  });
  const dataFiles = new DataFiles(dataFilesDirectory(directory), dirname(directory));
  const registration = new NodeRegistration({
    store: common.store,
    name: common.node,
    labels,
    address: '127.0.0.1',
    version: '1',
    drivers: [],
    runtimes: () => Promise.resolve([runtime.name]),
    clock: common.clock,
    logger: common.logger,
    policy: defaultPolicy,
    life: agentOfStore(random),
    onReplaced: ({ message }) => {
      throw new Error(message);
    },
  });
  const agent = new Agent({
    ...common,
    random,
    runtimes: [runtime],
    volumeManager,
    sealer,
    dataFiles,
  });
  common.manager.addRunnable(registration).addRunnable(agent);
  // As in a node's own process: they call drivers for data that is permanently on the node.
  for (const controllerOf of [volumeController, snapshotController])
    common.manager.addController(controllerOf({ ...common, random, part: 'node' }));
}
