import {
  type ApiObject,
  type Clock,
  EventRecorder,
  isDeleting,
  type Kind,
  type Logger,
  messageOf,
  type Metrics,
  type ObjectStore,
  type Runnable,
  sleep,
} from 'kedge';
import { events } from '../event/kind.js';
import { kindEntries } from './index.js';
import type { ControllerPolicy } from '../policy/policy.js';
import { eventTtlMs } from '../event/admission.js';
import { type Observed, type Transition, transitionsOf } from '../event/transitions.js';

/** Dependencies of the writer of events. */
export interface TransitionEventsOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
  /** Counts dropped events; absent: nothing is counted. */
  readonly metrics?: Metrics;
}

/** A kind whose transitions become events, and the phases that are warnings. */
interface WatchedKind {
  readonly kind: Kind<Observed>;
  readonly troubled: readonly string[];
}

/** The part of an object's state that is compared to detect transitions. */
function remembered({ status, failureMessage, conditions, metadata, name }: Observed): Observed {
  return {
    name,
    metadata,
    ...(status === undefined ? {} : { status }),
    ...(failureMessage === undefined ? {} : { failureMessage }),
    ...(conditions === undefined ? {} : { conditions }),
  };
}

/**
 * Writes events for the stored transitions of kinds with `troubledPhases`. Those beyond the rate limit of the recorder
 * and those during a failed watch have none. It reads the log, because a cache would coalesce two consecutive changes.
 */
export class TransitionEvents implements Runnable {
  readonly name = 'events';
  readonly #options: TransitionEventsOptions;
  readonly #recorder: EventRecorder;
  readonly #stop = new AbortController();
  #following: Promise<unknown> | undefined;

  constructor(options: TransitionEventsOptions) {
    this.#options = options;
    this.#recorder = new EventRecorder({
      ...options,
      kind: events,
      source: 'kedged',
      ttlMs: eventTtlMs,
    });
  }

  start(): Promise<void> {
    const watched = kindEntries.flatMap(({ kind, troubledPhases: troubled }) =>
      troubled ? [{ kind, troubled }] : [],
    );
    this.#following = Promise.all(watched.map((each) => this.#follow(each)));
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#following;
    await this.#recorder.flush();
  }

  async #follow(watched: WatchedKind): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#watch(watched);
      } catch (error) {
        const { logger, clock, policy } = this.#options;
        logger.warn(
          'the watch of a kind for events failed and is restarted; changes until then get no event',
          {
            kind: watched.kind.kind,
            error: messageOf(error),
          },
        );
        await sleep(clock, policy.eventRetryMs, signal);
      }
    }
  }

  async #watch({ kind, troubled }: WatchedKind): Promise<void> {
    const { store } = this.#options;
    const { signal } = this.#stop;
    const known = new Map<string, Observed>();
    for await (const batch of store.watch(kind, { sendInitialEvents: true, signal })) {
      for (const { type, object } of batch.events) {
        const { uid } = object.metadata;
        if (type === 'DELETED') {
          known.delete(uid);
          continue;
        }
        // The initial events are states, not transitions: an earlier process has recorded those.
        if (batch.initial === undefined) {
          const before = known.get(uid);
          this.#record(kind.kind, before, object, transitionsOf(before, object, troubled));
        }
        known.set(uid, remembered(object));
      }
    }
  }

  #record(
    kind: string,
    before: Observed | undefined,
    object: Observed & ApiObject,
    transitions: readonly Transition[],
  ): void {
    if (isDeleting(object) && before && !isDeleting(before))
      this.#recorder.record({ kind, object }, 'Normal', 'Deleting', 'its deletion was requested');
    for (const { type, reason, message } of transitions)
      this.#recorder.record({ kind, object }, type, reason, message);
  }
}
