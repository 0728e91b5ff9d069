import type { Logger, Runnable } from '../base/index.js';
import type { Controller } from '../controller/index.js';
import type { HealthCheck } from './health.js';
import { Part, type PartWork } from './part.js';
import type { StopBudget } from './stop-budget.js';

/** Dependencies of {@link Parts}. */
export interface PartsOptions {
  readonly logger: Logger;
  /** Called when a controller is stopped; true if its work must end because another process leads. */
  readonly abortsWork: () => boolean;
}

/** Controllers and runnables of a manager, in the order they start: controllers first. */
export class Parts {
  readonly #options: PartsOptions;
  readonly #controllers = new Map<Controller, Part>();
  readonly #runnables: Part[] = [];
  readonly #refreshes: (() => void)[] = [];

  constructor(options: PartsOptions) {
    this.#options = options;
  }

  /** Adds a controller. @throws TypeError for a second controller of that name */
  addController(controller: Controller): void {
    if ([...this.#controllers.keys()].some((c) => c.name === controller.name))
      throw new TypeError(`two controllers are named "${controller.name}"`);
    const part = this.#part({
      name: `controller ${controller.name}`,
      needsLeaderElection: true,
      isController: true,
      waitingFor: () => controller.waitingFor,
      start: () => controller.start(),
      stop: (budgetMs) => controller.stop(this.#options.abortsWork() ? 0 : budgetMs),
    });
    this.#controllers.set(controller, part);
  }

  addRunnable(runnable: Runnable): void {
    const part = this.#part({
      name: `runnable ${runnable.name}`,
      needsLeaderElection: runnable.needsLeaderElection !== false,
      isController: false,
      waitingFor: () => [],
      start: (signal) => runnable.start(signal),
      stop: (budgetMs) => runnable.stop(budgetMs),
    });
    this.#runnables.push(part);
    if (runnable.refreshMetrics) this.#refreshes.push(() => runnable.refreshMetrics?.());
  }

  #part(work: PartWork): Part {
    return new Part(work, this.#options.logger);
  }

  /** Parts that were not started yet. */
  get waiting(): readonly Part[] {
    return [...this.#controllers.values(), ...this.#runnables].filter(
      (part) => part.state === 'waiting',
    );
  }

  /** Starts a part that was added later; health and the log report a failure. */
  startLate(part: Part, signal: AbortSignal): void {
    part.start(signal).catch(() => {
      // Without a failure the start was cancelled.
      if (part.failure === undefined) return;
      const fields = { part: part.name, error: part.failure };
      this.#options.logger.error('a part could not be started', fields);
    });
  }

  /** Stops parts in reverse: runnables one by one, then all controllers at once. */
  async stop(which: (part: Part) => boolean, budget: StopBudget): Promise<void> {
    for (const part of this.#runnables.filter(which).reverse()) await part.stop(budget);
    const controllers = [...this.#controllers.values()].filter(which);
    await Promise.all(controllers.map((part) => part.stop(budget)));
  }

  refreshMetrics(): void {
    for (const controller of this.#controllers.keys()) controller.refreshMetrics();
    for (const refresh of this.#refreshes) refresh();
  }

  /**
   * Returns the health of the parts. Unhealthy are: a part that could not be started, and a controller with a reconcile
   * longer than `stuckAfterMs`.
   */
  health(stuckAfterMs: number): readonly HealthCheck[] {
    const controllers = [...this.#controllers].map(([controller, part]) => {
      const { longestRunMs, queued } = controller.stats();
      const stuck = longestRunMs > stuckAfterMs;
      const seconds = Math.round(longestRunMs / 1_000);
      const message = stuck ? `a reconcile has run for ${seconds} s` : `${queued} queued`;
      return check(part, !stuck, message);
    });
    return [...controllers, ...this.#runnables.map((part) => check(part, true, part.state))];
  }
}

function check(part: Part, healthy: boolean, message: string): HealthCheck {
  const { name, failure } = part;
  if (failure !== undefined)
    return { name, healthy: false, message: `could not be started: ${failure}` };
  if (part.state !== 'starting') return { name, healthy, message };
  const waitingFor = part.describedStart.slice(name.length).trim();
  return { name, healthy: false, message: `starting ${waitingFor}`.trim() };
}
