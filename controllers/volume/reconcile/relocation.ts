import {
  isDeleting,
  keyString,
  type ReconcileContext,
  requeueAfter,
  type Result,
  type Transaction,
} from 'kedge';
import {
  type Driver,
  type DriverError,
  isPending,
  type Parameters,
  type Pending,
} from '@kedge/driver-sdk';
import { isRefusal } from '../../provisioned/failure.js';
import { placedThere } from '../../messages/placement.js';
import { homeOf } from '../../provisioned/owner.js';
import type { Snapshot } from '../../snapshot/kind.js';
import type { StorageClass } from '../../storage-class/kind.js';
import type { TopologyChoice } from '../../storage-class/topology.js';
import type { Volume, VolumeStatus } from '../kind.js';
import type { VolumeSituation } from '../states/plan.js';
import { clearAttempt, isCreationOpen } from './earlier-attempt.js';
import type { PreparedCall, VolumeEffects } from './effects.js';
import {
  choosePlace,
  isElsewhere,
  labelsAt,
  openLabels,
  otherPlace,
  permittedNodes,
  type PlaceInputs,
} from '../place/topology-choice.js';
import { fittingTogether, nodesOfUsers } from '../place/user-nodes.js';
import { type FoundUsers, VolumeUsers } from '../place/volume-users.js';

type Labels = Readonly<Record<string, string>>;
type Exhausted = NonNullable<Volume['exhaustedTopologies']>;

/** The consequence of a refusal for lack of capacity. */
export interface Refused {
  /** The refusal, with the next step in its message. */
  readonly error: DriverError;
  /** Fields to write. */
  readonly status: Pick<VolumeStatus, 'exhaustedTopologies'>;
  /** Whether the volume is provisioned in another place at once. */
  readonly moves: boolean;
}

/** A topology, or the reason why there is none. */
export type ChosenPlace = TopologyChoice & {
  /** Runs the transaction that writes the topology; with `also` it writes for the instances of the volume. */
  readonly write: (
    work: (also: (txn: Transaction) => Promise<void>) => Promise<void>,
  ) => Promise<void>;
};

/** `svc.io/zone=a` */
function shown(place: Labels): string {
  return Object.entries(place)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ');
}

/** Why a volume without capacity gets no other place. */
function whyNot(inputs: PlaceInputs): string {
  const { users } = inputs;
  const placed = users.find(({ instance }) => instance.node !== undefined)?.instance;
  const movable = users.filter(({ instance }) => instance.node === undefined);
  // Once the instance is created again, it is placed where the volume gets capacity.
  if (placed && otherPlace({ ...inputs, users: movable }))
    return placedThere.format({ instance: keyString(placed) });
  return 'no Ready node that may use the volume is elsewhere';
}

/** Clears the places without capacity of a volume that has been provisioned; no change if there are none. */
export function noneExhausted({ exhaustedTopologies = [] }: Volume): VolumeStatus {
  return exhaustedTopologies.length === 0 ? {} : { exhaustedTopologies: [] };
}

/**
 * Chooses the topology of a volume, and another one if the provider has no capacity there. A place that refused is left
 * out for a while; it is left only once the driver has confirmed that nothing of the volume exists there.
 */
export class Relocation {
  readonly #effects: VolumeEffects;
  readonly #users: VolumeUsers;

  constructor(effects: VolumeEffects) {
    this.#effects = effects;
    this.#users = new VolumeUsers(effects.options);
  }

  /** The topology of a volume that begins to be provisioned. */
  async choose(
    volume: Volume,
    storageClass: StorageClass,
    prepared: PreparedCall,
    source: Snapshot | undefined,
  ): Promise<ChosenPlace> {
    const open = openLabels(prepared.driver.capabilities(), prepared.context.parameters);
    const found = await this.#users.find(volume, open);
    // Nothing is awaited from here on, so that concurrent choices see each other.
    const choice = choosePlace(this.#inputs(volume, storageClass, prepared, found), source);
    const place = labelsAt(open, choice.type === 'node' ? choice.topology : {});
    const nominees = this.#users.nominees(volume, found, place);
    return { ...choice, write: (work) => this.#users.nominating(nominees, work) };
  }

  #inputs(
    volume: Volume,
    storageClass: StorageClass,
    { driver, context: { parameters } }: PreparedCall,
    found: FoundUsers,
    exhausted: Exhausted = this.#exhausted(volume),
  ): PlaceInputs {
    const places = exhausted.map(({ topology }) => topology);
    const sources = this.#users.sources(found);
    const permitted = permittedNodes(
      sources.nodes,
      storageClass,
      driver.capabilities(),
      parameters,
    );
    const known = { ...sources, nodes: permitted };
    const users = nodesOfUsers(volume, found.users, known);
    return {
      ...{ volume, storageClass, nodes: permitted, driver, parameters },
      here: this.#effects.options.node,
      users,
      fitting: (at) => fittingTogether(users, at, known),
      exhausted: places,
    };
  }

  /** The places that refused within `failedRecheckMs`. Later they may have capacity again. */
  #exhausted({ exhaustedTopologies = [] }: Volume): Exhausted {
    const { clock, policy } = this.#effects.options;
    const now = clock.now();
    return exhaustedTopologies.filter(({ refusedAt }) => {
      // A clock that was far ahead would leave the place out for as long.
      const age = now - Date.parse(refusedAt);
      return Math.abs(age) < policy.failedRecheckMs;
    });
  }

  /**
   * The error and the status of a call that the provider refused because the place has no capacity. Undefined for other
   * errors, and for a volume that must be in that place.
   */
  async decide(
    { volume, storageClass }: VolumeSituation,
    prepared: PreparedCall | undefined,
    error: DriverError,
  ): Promise<Refused | undefined> {
    if (!error.retryElsewhere || !isRefusal(error.kind)) return undefined;
    if (!prepared || !storageClass || isDeleting(volume)) return undefined;
    const { driver, context } = prepared;
    const open = openLabels(driver.capabilities(), context.parameters);
    const here = labelsAt(open, volume.topology);
    if (Object.keys(here).length === 0) return undefined;
    const others = this.#exhausted(volume).filter(
      ({ topology }) => shown(topology) !== shown(here),
    );
    const exhaustedTopologies = [...others, { topology: here, refusedAt: this.#effects.now }];
    const found = await this.#users.find(volume, open);
    const inputs = this.#inputs(volume, storageClass, prepared, found, exhaustedTopologies);
    const other = otherPlace(inputs);
    const text = other
      ? `no capacity in ${shown(here)}: the volume is provisioned in ${shown(labelsAt(open, other.topology))}`
      : `no capacity in ${exhaustedTopologies.map(({ topology }) => shown(topology)).join(', ')}, and ${whyNot(inputs)}`;
    return {
      error: error.adding(text),
      status: { exhaustedTopologies },
      moves: other !== undefined,
    };
  }

  /**
   * Moves a volume whose place has no capacity to another one, if there is one. Undefined if it stays. Nothing of it is
   * left behind: an earlier attempt whose answer was lost may have created it.
   */
  async move(
    situation: VolumeSituation,
    prepared: PreparedCall,
    request: ReconcileContext,
  ): Promise<Result | undefined> {
    const { volume, storageClass } = situation;
    if (!storageClass || isDeleting(volume)) return undefined;
    const { driver, context } = prepared;
    const open = openLabels(driver.capabilities(), context.parameters);
    const here = shown(labelsAt(open, volume.topology));
    const exhausted = this.#exhausted(volume);
    if (!exhausted.some(({ topology }) => shown(topology) === here)) return undefined;
    const found = await this.#users.find(volume, open);
    const other = otherPlace(this.#inputs(volume, storageClass, prepared, found, exhausted));
    if (!other) return undefined;
    const nominees = this.#users.nominees(volume, found, labelsAt(open, other.topology));
    const left = await this.leave(volume, prepared, request);
    if (left) return left;
    const there = shown(labelsAt(open, other.topology));
    const message = `no capacity in ${here}: driver ${driver.name} is provisioning the volume in ${there}`;
    const status = {
      topology: other.topology,
      reason: 'Provisioning',
      ...this.#effects.made(volume, 'False', 'Provisioning', message),
    } as const;
    await this.#users.nominating(nominees, (also) =>
      this.#effects.write(request, volume, status, also),
    );
    return requeueAfter(0);
  }

  /** Leaves the place of an earlier attempt if a volume gets another one. Undefined once nothing of it is there. */
  async leaveFor(
    volume: Volume,
    topology: Labels,
    prepared: PreparedCall,
    request: ReconcileContext,
  ): Promise<Result | undefined> {
    const wasCalled = (volume.driver ?? '') !== '' && homeOf(volume) === undefined;
    const rules = prepared.driver.capabilities();
    if (!wasCalled || !isElsewhere(rules, volume.topology, topology)) return undefined;
    const isRefused = isRefusal(volume.lastOperation?.outcome ?? '');
    // Nothing was created, and the place may not even exist.
    if (isRefused && !(await isCreationOpen(prepared.context.operations))) return undefined;
    return this.leave(volume, prepared, request);
  }

  /** Deletes what an attempt may have created in the present place. Undefined once nothing is there. */
  async leave(
    volume: Volume,
    { driver, context }: PreparedCall,
    request: ReconcileContext,
  ): Promise<Result | undefined> {
    const startedAt = this.#effects.now;
    const parameters = inPlace(driver, context.parameters, volume.topology);
    let answer: void | Pending;
    try {
      answer = await driver.delete({ ...context, parameters, handle: undefined });
    } catch (thrown) {
      const call = { call: 'provision', startedAt };
      return this.#effects.retried(request, volume, call, thrown, ({ kind, message }) => ({
        reason: kind,
        ...this.#effects.made(
          volume,
          'False',
          kind,
          `the volume is provisioned once nothing of its last attempt is in ${shown(volume.topology ?? {})}: ${message}`,
        ),
      }));
    }
    if (isPending(answer))
      return this.#effects.reportInProgress(request, volume, 'provision', answer);
    await clearAttempt(context.operations);
    return undefined;
  }

  /**
   * Completes a deletion of remains that was started before the volume got its place or parameters back: the next
   * attempt would adopt a resource that is about to disappear. Undefined if none is open.
   */
  async completeLeave(
    volume: Volume,
    prepared: PreparedCall,
    request: ReconcileContext,
  ): Promise<Result | undefined> {
    const isOpen = (await prepared.context.operations.get('delete')) !== undefined;
    return isOpen && !volume.handle ? this.leave(volume, prepared, request) : undefined;
  }
}

/** The parameters with the place of a topology, if they name a place. */
function inPlace(
  driver: Pick<Driver, 'capabilities'>,
  parameters: Parameters,
  topology: Labels = {},
): Parameters {
  const { placeParameters = {} } = driver.capabilities();
  const replaced = Object.entries(placeParameters).flatMap(([label, keys]) => {
    const key = keys.find((each) => (parameters[each] ?? '') !== '');
    const value = topology[label];
    return key === undefined || value === undefined ? [] : [[key, value] as const];
  });
  return { ...parameters, ...Object.fromEntries(replaced) };
}
