import type { Capabilities } from '../contract/driver.js';
import type { Check, CheckNeed, CheckTopic } from './check.js';
import { ConformanceError, assert, LeftOut } from './failure.js';
import { cancellation } from './checks/cancellation.js';
import { concurrency } from './checks/concurrency.js';
import { data } from './checks/data.js';
import { errors } from './checks/errors.js';
import { handles } from './checks/handles.js';
import { growth } from './checks/growth.js';
import { idempotency } from './checks/idempotency.js';
import { lifecycle } from './checks/lifecycle.js';
import { mounts } from './checks/mounts.js';
import { nodes } from './checks/nodes.js';
import { snapshots } from './checks/snapshots.js';
import type { ConformanceOptions } from './options.js';
import { Trial } from './trial.js';

const topics: Readonly<Record<CheckTopic, readonly Check[]>> = {
  lifecycle,
  idempotency,
  data,
  snapshots,
  growth,
  mounts,
  nodes,
  concurrency,
  cancellation,
  errors,
  handles,
};

/** The outcome of a check that did not fail. */
export type CheckOutcome =
  | { readonly type: 'passed' }
  /** It could not be made with this driver on this host. */
  | { readonly type: 'leftOut'; readonly reason: string };

/** One requirement of drivers. */
export interface ConformanceCase {
  /** Kebab-case, unique in the suite: `provision-keeps-data`. */
  readonly name: string;
  readonly topic: CheckTopic;
  /** The requirement as a sentence. */
  readonly behaviour: string;
  /** Runs the check and cleans up, also after a failure. @throws Error that describes the driver's fault */
  readonly run: () => Promise<CheckOutcome>;
}

/** The outcome of one check. */
export type CheckReport = Pick<ConformanceCase, 'name' | 'topic' | 'behaviour'> & {
  readonly outcome: CheckOutcome | { readonly type: 'failed'; readonly error: unknown };
};

/** The reason why a check can't run; undefined if it can. */
function missing(
  need: CheckNeed,
  options: ConformanceOptions,
  capabilities: Capabilities,
): string | undefined {
  const reasonUnless = (holds: boolean, reason: string): string | undefined =>
    holds ? undefined : reason;
  switch (need) {
    case 'content':
      return reasonUnless(options.mounts !== false, 'the option "mounts" is false');
    case 'ownsData':
      return reasonUnless(
        capabilities.ownsData,
        'the driver does not own the data (capability ownsData)',
      );
    case 'snapshots':
      return reasonUnless(
        capabilities.snapshots,
        'the driver does not support snapshots (capability snapshots)',
      );
    case 'expand':
      return reasonUnless(
        capabilities.expand,
        'the driver does not support expansion (capability expand)',
      );
    case 'inventory':
      return reasonUnless(options.inventory !== undefined, 'the option "inventory" is not set');
    case 'otherNode':
      return reasonUnless(options.otherNode !== undefined, 'the option "otherNode" is not set');
    case 'unknownNode':
      return reasonUnless(options.unknownNode !== undefined, 'the option "unknownNode" is not set');
    case 'invalidParameters':
      return reasonUnless(
        (options.invalidParameters ?? []).length > 0,
        'the option "invalidParameters" is not set',
      );
    case 'sensitiveParameters':
      return reasonUnless(
        capabilities.sensitiveParameters.length > 0,
        'no parameter is a credential (capability sensitiveParameters)',
      );
  }
}

/** The case of a check. @param cleaner a correct driver, which removes what a faulty one leaves */
export function conformanceCase(
  topic: CheckTopic,
  { name, behaviour, needs, body }: Check,
  options: ConformanceOptions,
  cleaner?: ConformanceOptions['driver'],
): ConformanceCase {
  const inventory = async (): Promise<readonly string[]> => (await options.inventory?.()) ?? [];
  const run = async (): Promise<CheckOutcome> => {
    const capabilities = (await options.driver()).capabilities();
    for (const need of needs) {
      const reason = missing(need, options, capabilities);
      if (reason !== undefined) return { type: 'leftOut', reason };
    }
    const before = new Set(await inventory());
    const trial = new Trial(options, capabilities);
    let outcome: CheckOutcome = { type: 'passed' };
    try {
      try {
        await body(trial);
      } catch (error) {
        if (!(error instanceof LeftOut)) throw error;
        outcome = { type: 'leftOut', reason: error.reason };
      }
    } catch (error) {
      // Report the first error; failed cleanups follow from it.
      await trial.end(await trial.driver());
      await clean(trial);
      throw error;
    }
    const [problem] = await trial.end(await trial.driver());
    const left = (await inventory()).filter((item) => !before.has(item));
    await clean(trial);
    if (problem)
      throw new ConformanceError(
        `the resources of the check can't be removed: ${problem.message}`,
        {
          cause: problem,
        },
      );
    assert(left.length === 0, `resources remain after the check: ${left.join(', ')}`);
    return outcome;
  };
  const clean = async (trial: Trial): Promise<void> => {
    if (cleaner) await trial.end(await cleaner());
  };
  return { name, topic, behaviour, run };
}

/** Every check with its topic, in the order in which they run. */
export const checks: readonly { readonly topic: CheckTopic; readonly check: Check }[] = (
  Object.keys(topics) as CheckTopic[]
).flatMap((topic) => topics[topic].map((check) => ({ topic, check })));

/** The cases that a driver must pass: the same for every driver, in the same order. */
export function driverConformance(options: ConformanceOptions): readonly ConformanceCase[] {
  return checks.map(({ topic, check }) => conformanceCase(topic, check, options));
}

/**
 * Runs all cases in sequence, and reports each when it ends. A failed case is reported, not thrown.
 */
export async function runConformance(
  options: ConformanceOptions,
  onReport: (report: CheckReport) => void = () => undefined,
): Promise<readonly CheckReport[]> {
  const reports: CheckReport[] = [];
  for (const { name, topic, behaviour, run } of driverConformance(options)) {
    const outcome = await run().catch((error: unknown) => ({ type: 'failed', error }) as const);
    const report = { name, topic, behaviour, outcome };
    reports.push(report);
    onReport(report);
  }
  return reports;
}
