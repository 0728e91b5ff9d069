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
import { instances } from '../instance/kind.js';
import { namespaces } from '../namespace/kind.js';
import { nodes } from '../node/kind.js';
import { services } from '../service/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { volumes } from '../volume/kind.js';
import { events } from './kind.js';
import type { ControllerPolicy } from '../policy/policy.js';
import { eventTtlMs } from './admission.js';
import { type Observed, transitionsOf } from './transitions.js';

/** Ports of the writer of events. */
export interface TransitionEventsOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly policy: ControllerPolicy;
  /** Counts dropped events; absent: nothing is counted. */
  readonly metrics?: Metrics;
}

const observed = [volumes, snapshots, services, instances, nodes, namespaces] as const;

/** The part of an object's state that its next transition is seen against. */
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
 * Writes an event for every transition that controllers and agents store. It reads the log rather
 * than a cache, which would show an object that changed twice in a row once only.
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
    const kinds = observed as readonly unknown[] as readonly Kind<Observed>[];
    this.#following = Promise.all(kinds.map((kind) => this.#follow(kind)));
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#following;
    await this.#recorder.flush();
  }

  async #follow(kind: Kind<Observed>): Promise<void> {
    const { signal } = this.#stop;
    while (!signal.aborted) {
      try {
        await this.#watch(kind);
      } catch (error) {
        const { logger, clock, policy } = this.#options;
        logger.warn('the writer of events begins again', {
          kind: kind.kind,
          error: messageOf(error),
        });
        await sleep(clock, policy.eventRetryMs, signal);
      }
    }
  }

  async #watch(kind: Kind<Observed>): Promise<void> {
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
        // What was so before this began was told by whoever was there then.
        if (batch.initial === undefined) this.#tell(kind.kind, known.get(uid), object);
        known.set(uid, remembered(object));
      }
    }
  }

  #tell(kind: string, before: Observed | undefined, object: Observed & ApiObject): void {
    if (isDeleting(object) && before && !isDeleting(before))
      this.#recorder.record({ kind, object }, 'Normal', 'Deleting', 'its deletion was asked for');
    for (const { type, reason, message } of transitionsOf(before, object))
      this.#recorder.record({ kind, object }, type, reason, message);
  }
}
