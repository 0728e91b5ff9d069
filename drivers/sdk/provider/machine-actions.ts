import type { CallContext } from '../contract/driver.js';
import type { OperationKind, Pending } from '../contract/operations.js';
import type { ProviderClient } from '../http/provider-client.js';
import { ActionLanes } from './action-lanes.js';
import { operationIdOf, type ProviderOperation } from './await-operation.js';
import { carryOut } from './provider-calls.js';

/** An action of a volume, which the machine that the volume is attached to executes. */
export interface MachineAction<R> extends Omit<ProviderOperation<R>, 'start'> {
  readonly kind: OperationKind;
  readonly token: string;
  /** The machine, which executes one action at a time; read when the action starts. */
  readonly machine: () => string | undefined;
  readonly start: () => Promise<string>;
}

function holderOf(kind: OperationKind, uid: string): string {
  return `${kind} ${uid}`;
}

/** Runs actions of volumes, one at a time a machine. */
export class MachineActions {
  readonly #client: ProviderClient;
  readonly #lanes: ActionLanes;

  constructor(client: ProviderClient) {
    this.#client = client;
    this.#lanes = new ActionLanes(client.clock);
  }

  /** An action whose result shows elsewhere than in its record: nothing waits for the record any more. */
  async shown({ operations, volume }: CallContext, kind: OperationKind): Promise<void> {
    if ((await operations.get(kind)) !== undefined) await operations.clear(kind);
    this.#lanes.free(holderOf(kind, volume.uid));
  }

  /** As awaitOperation. @throws DriverError Throttled while the machine executes the action of another volume */
  async run<R>(request: CallContext, action: MachineAction<R>): Promise<R | Pending> {
    const { kind, token, machine, start } = action;
    const { operations } = request;
    const holder = holderOf(kind, request.volume.uid);
    const freed = async (): Promise<void> => {
      if (operationIdOf(await operations.get(kind)) === undefined) this.#lanes.free(holder);
    };
    try {
      const answer = await carryOut(this.#client.clock, request, kind, {
        observe: action.observe,
        state: action.state,
        start: () => {
          const on = machine();
          if (on !== undefined)
            this.#lanes.take(`machine ${on} of ${this.#client.credential(token)}`, holder);
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
