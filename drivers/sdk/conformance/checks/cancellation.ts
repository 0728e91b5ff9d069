import { setTimeout as pause } from 'node:timers/promises';
import type { Check } from '../check.js';
import { labelOf, requireContent, writeContent } from '../content.js';
import { assert } from '../failure.js';
import { kindOf } from '../require-kind.js';
import type { Made } from '../created-resources.js';
import type { Trial } from '../trial.js';
import { withinTime } from '../watched-driver.js';

/** Delays until calls are cancelled, milliseconds: before and during the call. */
const abortAfterMs = [undefined, 5] as const;

/** Makes a call and cancels it. Returns whether it succeeded anyway. */
async function givenUp(
  afterMs: number | undefined,
  call: (signal: AbortSignal) => Promise<unknown>,
): Promise<boolean> {
  if (afterMs === undefined) return (await kindOf(call(AbortSignal.abort()))) === undefined;
  const controller = new AbortController();
  const running = kindOf(call(controller.signal));
  await pause(afterMs);
  controller.abort();
  return (await running) === undefined;
}

/** Checks that calls end in time if their signal is aborted before or during the call. */
async function cancelled(
  trial: Trial,
  what: string,
  call: (signal: AbortSignal) => Promise<unknown>,
): Promise<void> {
  const { cancelTimeoutMs = 10_000 } = trial.options;
  await withinTime(
    `${what} with an aborted signal`,
    cancelTimeoutMs,
    kindOf(call(AbortSignal.abort())),
  );
  const later = new AbortController();
  const running = kindOf(call(later.signal));
  later.abort();
  await withinTime(`${what}, its signal aborted while it ran,`, cancelTimeoutMs, running);
}

/** Checks of cancelled calls. */
export const cancellation: readonly Check[] = [
  {
    name: 'cancelled-calls-end',
    behaviour: 'a call with an aborted signal ends in time, and can be repeated',
    needs: [],
    body: async (trial) => {
      const driver = await trial.driver();
      const volume = trial.identity();
      const request = trial.request(volume);
      await cancelled(trial, 'provision', (signal) => driver.provision({ ...request, signal }));
      const made: Made = { volume, ...(await driver.provision(request)) };
      assert(made.handle !== '', 'the handle is empty');
      const call = trial.call(made);
      const context = { ...trial.context(volume), handle: made.handle };
      await cancelled(trial, 'observe', (signal) => driver.observe({ ...context, signal }));
      await cancelled(trial, 'attach', (signal) => driver.attach({ ...call, signal }));
      await cancelled(trial, 'detach', (signal) => driver.detach({ ...call, signal }));
      await driver.detach(call);
      if (trial.capabilities.snapshots) {
        const snapshot = trial.snapshotRequest(made, trial.snapshotIdentity());
        await cancelled(trial, 'createSnapshot', (signal) =>
          driver.createSnapshot({ ...snapshot, signal }),
        );
        await driver.createSnapshot(snapshot);
      }
      await cancelled(trial, 'delete', (signal) => driver.delete({ ...context, signal }));
      await trial.delete(made);
    },
  },
  {
    name: 'cancelled-restores-are-whole',
    behaviour: 'a restore after a cancelled one has the whole content',
    needs: ['content', 'snapshots'],
    body: async (trial) => {
      const source = await trial.provision();
      await trial.mounted(source, (path) => writeContent(path, 'source'));
      const snapshot = await trial.snapshot(source);
      const driver = await trial.driver();
      for (const afterMs of abortAfterMs) {
        const volume = trial.identity();
        const request = trial.restoreRequest(snapshot, volume);
        await givenUp(afterMs, (signal) => driver.restore({ ...request, signal }));
        const restored = await trial.restore(snapshot, volume);
        await trial.mounted(restored, (path) =>
          requireContent(path, 'source', 'restored after a cancelled restore'),
        );
      }
    },
  },
  {
    name: 'cancelled-snapshots-are-of-one-time',
    behaviour:
      'a snapshot after a cancelled call is complete, and has the point in time of the call if that was answered',
    needs: ['content', 'snapshots'],
    body: async (trial) => {
      const source = await trial.provision();
      for (const [n, afterMs] of abortAfterMs.entries()) {
        const [before, after] = [`before ${n}`, `after ${n}`];
        await trial.mounted(source, (path) => writeContent(path, before));
        const identity = trial.snapshotIdentity();
        const request = trial.snapshotRequest(source, identity);
        const driver = await trial.driver();
        const answered = await givenUp(afterMs, (signal) =>
          driver.createSnapshot({ ...request, signal }),
        );
        await trial.mounted(source, (path) => writeContent(path, after));
        const restored = await trial.restore(await trial.snapshot(source, identity));
        await trial.mounted(restored, async (path) => {
          const label = (await labelOf(path)) ?? '';
          const right = label === before || (!answered && label === after);
          assert(right, `the content is "${label}" instead of "${before}"`);
          await requireContent(path, label, 'restored from a snapshot after a cancelled call');
        });
      }
    },
  },
];
