import type { CallContext } from '../contract/driver.js';
import { DriverError, type DriverErrorKind } from '../errors/errors.js';
import { type OperationKind, operationIdOf, type Pending } from '../contract/operations.js';
import type { ProviderClient } from '../http/provider-client.js';
import { ActionLanes } from './action-lanes.js';
import type { Observed, ProviderOperation } from './await-operation.js';
import { carryOut } from './provider-calls.js';

/** An action on a volume that a machine executes: the machine to which the volume is or will be attached. */
export interface MachineAction<R> extends Omit<ProviderOperation<R>, 'start'> {
  readonly kind: OperationKind;
  readonly token: string;
  /**
   * Returns the id of the machine, or undefined if none is involved, or as long as none is known. Called before the
   * first observation, and when the action starts.
   */
  readonly machine: () => string | undefined;
  readonly start: () => Promise<string>;
}

/**
 * Handles a refusal that may mean that the requested state exists already, such as "already attached". Observes the
 * state, because the refusal alone does not prove it, and returns the result if it exists.
 * @throws `error` if `error` is of another kind, the state does not exist, or the observation fails
 */
export async function observedAfter<R>(
  error: unknown,
  kind: DriverErrorKind,
  observe: () => Promise<Observed<R>>,
): Promise<R> {
  if (!(error instanceof DriverError) || error.kind !== kind) throw error;
  const observed = await observe().catch(() => undefined);
  if (observed?.type === 'done') return observed.result;
  throw error;
}

function holderOf(kind: OperationKind, uid: string): string {
  return `${kind} ${uid}`;
}

/** Runs actions on volumes. Each machine executes one action at a time. */
export class MachineActions {
  readonly #client: ProviderClient;
  readonly #lanes: ActionLanes;

  constructor(client: ProviderClient) {
    this.#client = client;
    this.#lanes = new ActionLanes(client.clock);
  }

  /** Ends an action whose result was seen elsewhere than in the provider's record: the record is no longer polled. */
  async shown({ operations, volume }: CallContext, kind: OperationKind): Promise<void> {
    if ((await operations.get(kind)) !== undefined) await operations.clear(kind);
    this.#lanes.free(holderOf(kind, volume.uid));
  }

  /**
   * Runs an action like {@link carryOut}.
   * @throws DriverError also Throttled while the machine executes another action
   */
  async run<R>(request: CallContext, action: MachineAction<R>): Promise<R | Pending> {
    const { kind, token, machine, start } = action;
    const { operations } = request;
    const holder = holderOf(kind, request.volume.uid);
    const laneOf = (on: string): string => `machine ${on} of ${this.#client.credential(token)}`;
    const next = machine();
    const isStarted = operationIdOf(await operations.get(kind)) !== undefined;
    if (next !== undefined && !isStarted) this.#lanes.requireTurn(laneOf(next), holder);
    const freed = async (): Promise<void> => {
      if (operationIdOf(await operations.get(kind)) === undefined) this.#lanes.free(holder);
    };
    try {
      const answer = await carryOut(this.#client.clock, request, kind, {
        observe: action.observe,
        state: action.state,
        ...(action.resultOf ? { resultOf: action.resultOf } : {}),
        start: async () => {
          const on = machine();
          if (on !== undefined) this.#lanes.take(laneOf(on), holder);
          return start();
        },
      });
      await freed();
      return answer;
    } catch (error) {
      await freed();
      throw error;
    }
  }
}
