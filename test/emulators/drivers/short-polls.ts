import { answerWithinMs, type Driver, isPending, type Pending } from '@kedge/driver-sdk';

/** The least time that the contract permits a pending call to ask for, milliseconds. */
const pollAfterMsMin = 100;

/**
 * The driver with a tenth of each time after which a pending call is to be repeated: the emulator's actions take 10 ms.
 * Longer times are those of deadlines, and keep their length.
 */
export function withShortPolls(driver: Driver): Driver {
  const soon =
    <Q, R>(call: (request: Q) => Promise<R | Pending>) =>
    async (request: Q): Promise<R | Pending> => {
      const answer = await call(request);
      if (!isPending(answer) || answer.pollAfterMs > answerWithinMs) return answer;
      return { ...answer, pollAfterMs: Math.max(pollAfterMsMin, answer.pollAfterMs / 10) };
    };
  return {
    ...driver,
    provision: soon((request) => driver.provision(request)),
    delete: soon((request) => driver.delete(request)),
    attach: soon((request) => driver.attach(request)),
    detach: soon((request) => driver.detach(request)),
    expand: soon((request) => driver.expand(request)),
    createSnapshot: soon((request) => driver.createSnapshot(request)),
    deleteSnapshot: soon((request) => driver.deleteSnapshot(request)),
    restore: soon((request) => driver.restore(request)),
  };
}
