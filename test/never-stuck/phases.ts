import type {
  InstancePhase,
  Namespace,
  Node,
  Service,
  SnapshotPhase,
  VolumePhase,
} from '@kedge/controllers';
import { isBefore } from './cases.js';
import type { RuntimeFault } from './machine.js';
import type { Fault, ProviderCall } from './provider.js';
import type { Subject } from './references.js';
import type { Scene, Step } from './scene.js';

/** The steps that move an object into a phase and keep it there. */
export interface Recipe {
  /** Executed one after the other, with time in between. */
  readonly steps: readonly Step[];
  /** Removes the cause that keeps it in the phase. */
  readonly release: Step;
  /** The message of the object while it is kept in the phase. */
  readonly says?: RegExp;
  /** Whether it is being deleted. */
  readonly leaving?: boolean;
}

const nothing: Step = () => Promise.resolve();

function holding(scene: Scene, call: ProviderCall, fault: Fault): [Step, Step] {
  const { provider } = scene.world;
  const set = (to: Fault | undefined) => () => {
    provider.hold(scene.namespace, call, to);
    return Promise.resolve();
  };
  return [set(fault), set(undefined)];
}

/** A call that stays in progress. Drivers of data on a node are not polled for such an operation. */
function unending({ one }: Scene): Fault {
  return one.broken.to === 'home' ? 'Unavailable' : 'slow';
}

function runtimeFault(scene: Scene, fault: RuntimeFault): [Step, Step] {
  const { namespace } = scene;
  return [
    () => Promise.resolve(scene.onMachines(({ faults }) => faults.set(namespace, fault))),
    () => Promise.resolve(scene.onMachines(({ faults }) => faults.delete(namespace))),
  ];
}

/** Creates the volume: directly, from a snapshot, or with its service. */
function volumeComes(scene: Scene, policy = 'delete'): Step {
  const { to } = scene.one.broken;
  if (to === 'Service') return () => scene.makeService({ template: true, policy });
  if (to === 'Snapshot') return () => scene.makeVolume('v', { source: { snapshot: 'snap' } });
  return () => scene.makeVolume('v');
}

const volumePhases: Record<VolumePhase, (scene: Scene) => Recipe> = {
  Pending: (scene) => {
    const { broken } = scene.one;
    // Its missing node suffices for it to be Pending.
    if (broken.to === 'home' && isBefore(broken))
      return { steps: [volumeComes(scene)], release: nothing };
    return {
      steps: [() => scene.openClass(false), volumeComes(scene)],
      release: () => scene.openClass(true),
      says: /no node has the labels that allowedTopologies/,
    };
  },
  Provisioning: (scene) => {
    const [hold, release] = holding(scene, provisionOf(scene), unending(scene));
    return {
      steps: [hold, volumeComes(scene)],
      release,
      says: /driver disk is (creating|provisioning)|answers Un/,
    };
  },
  Available: (scene) => ({
    steps: [notStarting(scene), volumeComes(scene)],
    release: starting(scene),
    says: /answers Unavailable/,
  }),
  Bound: (scene) => ({
    steps: [volumeComes(scene), () => scene.makeService()],
    release: nothing,
  }),
  Released: (scene) => ({
    steps: [
      () => scene.makeService({ template: true, policy: 'retain' }),
      () => scene.remove('/services/web'),
    ],
    release: nothing,
  }),
  Failed: (scene) => {
    const [hold, release] = holding(scene, provisionOf(scene), 'PermissionDenied');
    return { steps: [hold, volumeComes(scene)], release, says: /answers PermissionDenied/ };
  },
  Stalled: (scene) => {
    const [hold, release] = holding(scene, provisionOf(scene), 'Timeout');
    const [blind, see] = holding(scene, 'observe', 'Unavailable');
    return {
      steps: [both(hold, blind), volumeComes(scene)],
      release: both(release, see),
      says: /answers (Timeout|Unavailable)/,
    };
  },
};

function provisionOf({ one }: Scene): ProviderCall {
  return one.broken.to === 'Snapshot' ? 'restore' : 'provision';
}

/** A volume of a service is Available only briefly: its instance claims it. */
function notStarting(scene: Scene): Step {
  return scene.one.broken.to === 'Service' ? holding(scene, 'attach', 'Unavailable')[0] : nothing;
}

function starting(scene: Scene): Step {
  return scene.one.broken.to === 'Service' ? holding(scene, 'attach', 'Unavailable')[1] : nothing;
}

function both(...steps: readonly Step[]): Step {
  return async () => {
    for (const step of steps) await step();
  };
}

const snapshotPhases: Record<SnapshotPhase, (scene: Scene) => Recipe> = {
  Pending: (scene) => {
    const [hold, release] = holding(scene, 'provision', unending(scene));
    return {
      // The source is in progress: the preparation creates it and waits for this block.
      steps: [hold, () => scene.makeVolume('base'), () => scene.makeSnapshot()],
      release,
      says: /is (Provisioning|Failed:.*Unavailable); the snapshot is created once the volume is provisioned/,
    };
  },
  Creating: (scene) => {
    const [hold, release] = holding(scene, 'createSnapshot', unending(scene));
    return {
      steps: [hold, () => scene.makeSnapshot()],
      release,
      says: /driver disk is (creating|provisioning)|Pending|answers Unavailable/,
    };
  },
  Ready: (scene) => ({ steps: [() => scene.makeSnapshot()], release: nothing }),
  Deleting: (scene) => {
    const [hold, release] = holding(scene, 'deleteSnapshot', unending(scene));
    return {
      steps: [hold, () => scene.makeSnapshot(), () => scene.remove('/snapshots/snap')],
      release,
      says: /Pending|Deleting|answers Unavailable/,
      leaving: true,
    };
  },
  Failed: (scene) => {
    const [hold, release] = holding(scene, 'createSnapshot', 'PermissionDenied');
    return { steps: [hold, () => scene.makeSnapshot()], release, says: /answers PermissionDenied/ };
  },
};

/** Creates the service with the fields that the dependency of the case requires. */
function serviceComes(scene: Scene, scale = 1): Step {
  const { to, breakage } = scene.one.broken;
  const template = to === 'StorageClass' || scale > 1;
  const waits = to === 'Node' && (breakage === 'missing' || breakage === 'late');
  const more = waits ? { nodeSelector: { [`zone-${scene.namespace}`]: 'here' } } : {};
  return () => scene.makeService({ template, scale, more });
}

/** Changes the environment of the service, which replaces its instances. */
export function recastService(scene: Scene, value: string): Step {
  return () =>
    scene.change(scene.path('/services/web'), (service) => ({
      ...service,
      env: { ...(service['env'] as object), AGAIN: value },
    }));
}

const servicePhases: Record<NonNullable<Service['status']>, (scene: Scene) => Recipe> = {
  Pending: (scene) => {
    const [hold, release] = runtimeFault(scene, 'startsHang');
    return { steps: [hold, serviceComes(scene)], release, says: /0 of 1 instances are ready/ };
  },
  Running: (scene) => ({ steps: [serviceComes(scene)], release: nothing }),
  Deploying: (scene) => {
    const [hold, release] = runtimeFault(scene, 'startsHang');
    const steps = [serviceComes(scene, 2), both(hold, recastService(scene, 'first'))];
    return { steps, release, says: /older ones are replaced once web-\d is ready/ };
  },
  Degraded: (scene) => {
    const [hold, release] = runtimeFault(scene, 'startsHang');
    const steps = [serviceComes(scene, 2), both(hold, () => scene.remove('/instances/web-0'))];
    return { steps, release, says: /\d of 2 instances are ready.*web-0/ };
  },
  Failed: (scene) => {
    const [hold, release] = runtimeFault(scene, 'startsFail');
    return { steps: [hold, serviceComes(scene)], release, says: /0 of 1 instances are ready/ };
  },
  Deleting: (scene) => {
    const [hold, release] = holding(scene, 'detach', 'slow');
    const stays = runtimeFault(scene, 'deaf');
    const steps = [both(hold, stays[0]), serviceComes(scene), () => scene.remove('/services/web')];
    return { steps, release: both(release, stays[1]), says: /instances are ready/, leaving: true };
  },
};

const instancePhases: Record<InstancePhase, (scene: Scene) => Recipe> = {
  Pending: (scene) => {
    const [hold, release] = holding(scene, 'attach', 'Unavailable');
    return { steps: [hold, serviceComes(scene)], release, says: /answers Unavailable/ };
  },
  Starting: (scene) => {
    const [hold, release] = runtimeFault(scene, 'startsHang');
    return { steps: [hold, serviceComes(scene)], release, says: /is being started/ };
  },
  Running: (scene) => ({ steps: [serviceComes(scene)], release: nothing }),
  Stopped: (scene) => {
    const [hold, release] = holding(scene, 'detach', 'slow');
    const steps = [hold, serviceComes(scene), () => scene.remove('/instances/web-0')];
    return { steps, release, says: /are being detached|did not finish the operation/ };
  },
  Failed: (scene) => {
    const [hold, release] = runtimeFault(scene, 'startsFail');
    return { steps: [hold, serviceComes(scene)], release, says: /the image can not be run/ };
  },
  Exited: (scene) => {
    const { namespace } = scene;
    const ends = () =>
      Promise.resolve(scene.onMachines((m) => m.endings.set(namespace, { exitCode: 0 })));
    const release = () => Promise.resolve(scene.onMachines((m) => m.endings.delete(namespace)));
    return { steps: [ends, serviceComes(scene)], release, says: /ended with exit code 0/ };
  },
  Unknown: (scene) => ({
    steps: [serviceComes(scene), () => Promise.resolve(scene.world.kill('n1'))],
    release: async () => {
      if (!scene.world.isUp('n1')) await scene.world.boot('n1');
    },
    says: /node n1/,
  }),
};

const namespacePhases: Record<NonNullable<Namespace['status']>, (scene: Scene) => Recipe> = {
  Active: (scene) => ({ steps: [() => scene.makeService()], release: nothing }),
  Terminating: (scene) => {
    const [hold, release] = holding(scene, 'delete', unending(scene));
    return {
      steps: [
        both(hold, () => scene.makeService()),
        () => scene.world.rest('DELETE', `/namespaces/${scene.namespace}?cascade=true`),
      ],
      release,
      says: /waits for the deletion of its objects/,
      leaving: true,
    };
  },
};

const nodePhases: Record<NonNullable<Node['status']>, (scene: Scene) => Recipe> = {
  Ready: () => ({ steps: [], release: nothing }),
  NotReady: (scene) => ({
    steps: [() => Promise.resolve(scene.world.kill('n1'))],
    release: async () => {
      if (!scene.world.isUp('n1')) await scene.world.boot('n1');
    },
    says: /has sent no heartbeat/,
  }),
};

/** By kind and phase. The types require an entry for each. */
const recipes: Readonly<Record<Subject, Readonly<Record<string, (scene: Scene) => Recipe>>>> = {
  Volume: volumePhases,
  Snapshot: snapshotPhases,
  Service: servicePhases,
  Instance: instancePhases,
  Namespace: namespacePhases,
  Node: nodePhases,
};

/** The recipe by which the subject of a scene reaches its phase. @throws TypeError for a phase without a recipe */
export function recipeOf(scene: Scene): Recipe {
  const { from, phase } = scene.one;
  const recipe = recipes[from][phase];
  if (!recipe) throw new TypeError(`there is no recipe for ${from} ${phase}`);
  return recipe(scene);
}
