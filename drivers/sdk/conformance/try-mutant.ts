import { setTimeout as pause } from 'node:timers/promises';
import type { Driver } from '../contract/driver.js';
import { type SynchronousDriver, synchronousDriver } from '../provider/synchronous-driver.js';
import type { Check } from './check.js';
import { delegate } from './delegate.js';
import { emptyMemory, type Mutant, type MutantMemory, remembering } from './mutants/mutant.js';
import type { ConformanceOptions } from './options.js';
import { type ConformanceCase, checks, conformanceCase } from './suite.js';

/** The result of a mutant. */
export type MutantOutcome =
  /** The check `by` failed with `message`. */
  | { readonly type: 'killed'; readonly by: string; readonly message: string }
  /** The check that must detect it passed. */
  | { readonly type: 'survived' }
  /** The check can't be made with this driver on this host, or the mutant changes nothing in it. */
  | { readonly type: 'leftOut'; readonly reason: string };

/** Left out for drivers without devices. */
const attachesDevice: Check = {
  name: 'attaches-a-device',
  behaviour: 'attach gives a device',
  needs: [],
  body: async (trial) => {
    await trial.device(await trial.provision());
  },
};

/** Deletes the resources that the mutant created itself. */
async function sweep(
  driver: SynchronousDriver,
  { attached, strays, straySnapshots }: MutantMemory,
): Promise<void> {
  const { signal } = new AbortController();
  for (const [uid, stray] of strays) {
    const held = attached.get(uid);
    if (held) await driver.detach({ ...held, signal });
    await driver.delete({ ...stray, signal, handle: undefined });
  }
  for (const stray of straySnapshots.values())
    await driver.deleteSnapshot({ ...stray, signal, handle: undefined });
}

/** The case of a check, run with the faulty driver; the correct one cleans up after it. */
function faultyCase(name: string, options: ConformanceOptions, mutant: Mutant): ConformanceCase {
  const entry = checks.find(({ check }) => check.name === name);
  if (!entry) throw new TypeError(`mutant ${mutant.name} names an unknown check: ${name}`);
  const memory = emptyMemory();
  const faulty = async (): Promise<Driver> => {
    const correct = remembering(synchronousDriver(await options.driver(), pause), memory);
    return delegate(correct, mutant.change(correct, memory));
  };
  const found = conformanceCase(
    entry.topic,
    entry.check,
    { ...options, driver: faulty },
    options.driver,
  );
  return {
    ...found,
    run: async () => {
      try {
        return await found.run();
      } finally {
        await sweep(synchronousDriver(await options.driver(), pause), memory);
      }
    },
  };
}

/**
 * Runs the check that must detect a mutant. It runs with the correct driver first: if it is left out on this host,
 * the mutant is left out too.
 * @throws Error if the correct driver fails the check; TypeError if the mutant names an unknown check
 */
export async function tryMutant(
  options: ConformanceOptions,
  mutant: Mutant,
): Promise<MutantOutcome> {
  const by = mutant.killedBy;
  const entry = checks.find(({ check }) => check.name === by);
  if (!entry) throw new TypeError(`mutant ${mutant.name} names an unknown check: ${by}`);
  if (mutant.needsDevice) {
    const probed = await conformanceCase('mounts', attachesDevice, options).run();
    if (probed.type === 'leftOut') return probed;
  }
  const outcome = await conformanceCase(entry.topic, entry.check, options).run();
  if (outcome.type === 'leftOut') return outcome;
  try {
    await faultyCase(by, options, mutant).run();
    return { type: 'survived' };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    return { type: 'killed', by, message };
  }
}

/**
 * Runs the whole suite with the faulty driver.
 * @returns names of all checks that fail, in the order in which they run.
 */
export async function failuresOf(
  options: ConformanceOptions,
  mutant: Mutant,
): Promise<readonly string[]> {
  const failed: string[] = [];
  for (const { check } of checks)
    await faultyCase(check.name, options, mutant)
      .run()
      .catch(() => failed.push(check.name));
  return failed;
}
