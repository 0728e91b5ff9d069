import type { Random } from 'kedge';
import type { Driver, OperationKind, Operations, Pending } from '@kedge/driver-sdk';

interface Asked {
  readonly operations: Operations;
}

/** Percentage of operations that continue after the first answer. */
const slowPercent = 25;

/**
 * A driver whose provider is asynchronous at times. A call begins an operation, stores its id and answers that
 * it is in progress. A later call by any process executes the work.
 */
export function slowDriver(driver: Driver, random: Random): Driver {
  let begun = 0;
  const chance = (percent: number): boolean => random.next() * 100 < percent;
  const slowly =
    <Q extends Asked, R>(kind: OperationKind, call: (request: Q) => Promise<R | Pending>) =>
    async (request: Q): Promise<R | Pending> => {
      const { operations } = request;
      const id = await operations.get(kind);
      const goesOn = { type: 'pending', pollAfterMs: 100 + random.next() * 4_000 } as const;
      if (id === undefined && chance(slowPercent)) {
        await operations.set(kind, `${kind}-${(begun += 1)}`);
        return goesOn;
      }
      if (id !== undefined && chance(50)) return goesOn;
      const answer = await call(request);
      await operations.clear(kind);
      return answer;
    };
  return {
    ...driver,
    provision: slowly('provision', (request) => driver.provision(request)),
    restore: slowly('restore', (request) => driver.restore(request)),
    delete: slowly('delete', (request) => driver.delete(request)),
    attach: slowly('attach', (request) => driver.attach(request)),
    detach: slowly('detach', (request) => driver.detach(request)),
    expand: slowly('expand', (request) => driver.expand(request)),
    createSnapshot: slowly('createSnapshot', (request) => driver.createSnapshot(request)),
    deleteSnapshot: slowly('deleteSnapshot', (request) => driver.deleteSnapshot(request)),
  };
}
