import {
  type Clock,
  type Controller,
  done,
  isDeleting,
  keyString,
  type Lister,
  type Logger,
  type Manager,
  newController,
  type ObjectStore,
  type Random,
  type ReconcileContext,
  requeueAfter,
  type Result,
  timestamp,
  type Transaction,
} from 'kedge';
import type { DriverRegistry } from '@kedge/driver-sdk';
import { agentFinalizer } from '../instance/index.js';
import { type Instance, instances } from '../instance/kind.js';
import { type Node, nodes } from '../node/kind.js';
import { storageClasses } from '../storage-class/kind.js';
import { volumes } from '../volume/kind.js';
import { backoffOf, type ControllerPolicy } from '../policy/policy.js';
import { isNeedy } from '../resources/index.js';
import { type Reason, setCondition } from '../reasons/index.js';
import {
  isNominated,
  type Nomination,
  type NominationSources,
  occupantsOf,
  placeInstance,
  type Placement,
  takingFrom,
  type VolumeConstraint,
} from '../placement/index.js';
import { type Constraints, constraintsOf } from './constraints.js';
import { NominationTimes } from './nomination-times.js';
import {
  changesNodePlacement,
  changesVolumePlacement,
  endsNomination,
  endsReservation,
  isOver,
  placementRequeues,
} from './placement-requeues.js';

/** Dependencies of the scheduler. */
export interface SchedulerOptions {
  readonly store: ObjectStore;
  readonly manager: Manager;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
  readonly drivers: Pick<DriverRegistry, 'get'>;
}

/** Delay after which the cache is expected to contain a write, milliseconds. */
const cacheLagMs = 50;

/** The choice of a node for one instance, from cached nodes and instances. */
class Choice {
  readonly #instance: Instance;
  readonly #nodes: readonly Node[];
  readonly #taking: Lister<Instance, 'takesFrom'>;
  readonly #sources: NominationSources;

  constructor({ manager }: SchedulerOptions, instance: Instance) {
    this.#instance = instance;
    this.#nodes = manager.informer(nodes).lister.list();
    this.#taking = manager.informer(instances).lister;
    this.#sources = { volumes: manager.informer(volumes).lister };
  }

  get sources(): NominationSources {
    return this.#sources;
  }

  #usersOf(node: Node): readonly Instance[] {
    const taking = this.#taking.byIndex('takesFrom', node.name);
    return occupantsOf(node, taking, this.#instance, this.#sources);
  }

  #among(from: readonly Node[], constraints: readonly VolumeConstraint[]): Placement {
    return placeInstance(this.#instance, from, constraints, (node) => this.#usersOf(node));
  }

  #nominated(): readonly Node[] {
    return this.#nodes.filter(({ name }) => name === this.#instance.nominatedNode);
  }

  /** The node for which the instance is nominated, if it still fits, else the best one. None while it waits for a volume. */
  place({ now, missing }: Constraints): Placement {
    if (missing.length > 0)
      return { type: 'none', reason: 'VolumeNotReady', message: missing.join('; ') };
    const there = this.#among(this.#nominated(), now);
    return there.type === 'node' ? there : this.#among(this.#nodes, now);
  }

  /**
   * The node whose room is reserved from now on for an instance that waits for volumes whose place is chosen. Undefined
   * if it waits for no such volume, if the present nomination holds, if no node has room, and once the time of the
   * first nomination has passed.
   * @param at the present time, for a first nomination
   */
  nominate({ now, later }: Constraints, at: string): Nomination | undefined {
    const instance = this.#instance;
    if (!isWaiting({ now, later }) || !isNeedy(instance.template) || isOver(instance))
      return undefined;
    const nominatedAt = instance.nominatedAt || at;
    const canCome = (node: Node): boolean =>
      isNominated({ ...instance, nominatedNode: node.name }, node, this.#sources);
    const holds = this.#nominated().some(
      (node) => canCome(node) && this.#among([node], later).type === 'node',
    );
    if (holds) return undefined;
    const choice = this.#among(this.#nodes.filter(canCome), later);
    return choice.type === 'node' ? { nominatedNode: choice.node, nominatedAt } : undefined;
  }
}

/** The state of the scheduler about unplaced instances, besides the caches. */
interface Known {
  readonly times: NominationTimes;
  /** Keys of the instances that no node can get until a volume whose place is chosen is provisioned, as of their last run. */
  readonly waiting: Set<string>;
}

/** Whether a volume whose place is chosen keeps an instance from every node until it is provisioned. */
function isKeptFromNodes({ now, later }: Constraints): boolean {
  return now.some(({ open = [] }, index) => open.length > 0 && later[index] !== now[index]);
}

/** Whether an instance waits for a volume whose place is chosen. */
function isWaiting({ now, later }: Pick<Constraints, 'now' | 'later'>): boolean {
  return later.some((constraint, index) => constraint !== now[index]);
}

/**
 * Whether an instance fits on a node in addition to the instances of the store. The cache may lack an instance that was
 * placed just now. The commit fails if the node changes, or another instance is placed there or nominated for it.
 */
async function fitsAtCommit(
  { store }: SchedulerOptions,
  txn: Transaction,
  instance: Instance,
  node: Node,
  constraints: readonly VolumeConstraint[],
  sources: NominationSources,
): Promise<boolean> {
  if (!isNeedy(instance.template)) return true;
  const users = await takingFrom(txn, store, node, instance, sources);
  return placeInstance(instance, [node], constraints, () => users).type === 'node';
}

/**
 * Places an instance on a node, or writes why no node fits. The commit fails if the node or a volume has changed since
 * it was read.
 */
function reconcile(
  options: SchedulerOptions,
  { times, waiting }: Known,
  context: ReconcileContext,
): Promise<Result> {
  const { key } = context;
  const label = keyString(key);
  return context.txn(async (txn) => {
    const instance = await txn.get(instances, key);
    const leftMs = times.leftMs(label, instance);
    waiting.delete(label);
    if (!instance || instance.node !== undefined || isDeleting(instance)) return done();
    const present = timestamp(options.clock);
    if (leftMs === 0) {
      // The nomination ends before any step that may fail, because other instances wait for the room.
      const nominatedAt = instance.nominatedAt || present;
      txn.updateStatus(instances, key, { nominatedNode: '', nominatedAt });
      return requeueAfter(0);
    }
    const classes = options.manager.informer(storageClasses).lister.list();
    const constraints = await constraintsOf(options.drivers, classes, txn, instance);
    if (isKeptFromNodes(constraints)) waiting.add(label);
    const choice = new Choice(options, instance);
    const report = (
      status: 'True' | 'False',
      reason: Reason,
      message: string,
      nomination: Partial<Nomination> = {},
    ): void => {
      const condition = { type: 'Scheduled', status, reason, message };
      const conditions = setCondition(instance.conditions, condition, present);
      txn.updateStatus(instances, key, { conditions, ...nomination });
    };
    const nodeNamed = async (name: string): Promise<Node | undefined> => {
      await txn.get(nodes, { name }, { watching: 'generation' });
      return txn.get(nodes, { name }, { watching: ['status'] });
    };
    const placement = choice.place(constraints);
    if (placement.type === 'none') {
      const nomination = choice.nominate(constraints, present);
      const node = nomination && (await nodeNamed(nomination.nominatedNode));
      const isKept =
        node &&
        (await fitsAtCommit(options, txn, instance, node, constraints.later, choice.sources));
      const written = isKept ? nomination : {};
      report('False', placement.reason, placement.message, written);
      if (nomination && !isKept) return requeueAfter(cacheLagMs);
      const keptMs = times.leftMs(label, { ...instance, ...written });
      return keptMs === undefined ? done() : requeueAfter(keptMs);
    }
    const { node: name } = placement;
    const node = await nodeNamed(name);
    // The cache is behind the store: once it has the change of the node, waiting instances are queued.
    if (!node || placeInstance(instance, [node], constraints.now).type === 'none') return done();
    if (!(await fitsAtCommit(options, txn, instance, node, constraints.now, choice.sources)))
      return requeueAfter(cacheLagMs);
    // One transaction sets the node and the finalizer of its agent.
    const finalizers = [...(instance.metadata.finalizers ?? []), agentFinalizer];
    const metadata = { ...instance.metadata, finalizers };
    txn.update(instances, { ...instance, node: name, metadata });
    const ended = instance.nominatedAt ? { nominatedNode: '', nominatedAt: '' } : {};
    report('True', 'Scheduled', `bound to node ${name}`, ended);
    return done();
  });
}

/** Creates the controller that binds instances to nodes. */
export function schedulerController(options: SchedulerOptions): Controller {
  const { manager } = options;
  const informer = manager.informer(instances);
  const known: Known = { times: new NominationTimes(options.clock), waiting: new Set() };
  const requeues = placementRequeues({
    instances: informer,
    nodes: manager.informer(nodes),
    volumes: manager.informer(volumes),
    isWaiting: (key) => known.waiting.has(key),
  });
  return (
    newController({
      ...manager.ports,
      name: 'scheduler',
      store: options.store,
      reconcile: (context) => reconcile(options, known, context),
      backoff: backoffOf(options.policy, 'object'),
    })
      .for(informer)
      .watches(manager.informer(nodes), requeues.ofNode, changesNodePlacement)
      // Only the end of an instance, or of its nomination, frees resources; other changes queue no other instances.
      .watches(informer, requeues.ofInstance, endsNomination)
      .watches(manager.informer(volumes), requeues.ofVolume, changesVolumePlacement)
      .watches(manager.informer(volumes), requeues.ofReserving, endsReservation)
      .watches(manager.informer(storageClasses), requeues.ofClass)
  );
}
