import type { ApiObject, WatchBatch } from '../../object/index.js';
import type { JsonObject } from '../../rpc/index.js';
import { sharedAnswer } from '../api/shared-answer.js';

/** The answers to a batch, as far as a watcher has asked for them. */
interface Progress {
  readonly made: JsonObject[];
  readonly rest: Iterator<JsonObject>;
  failure?: { readonly thrown: unknown };
}

/** The answers to batches that a store gives to several watchers, in one form. */
export class SharedAnswers {
  readonly #made = new WeakMap<WatchBatch<ApiObject>, Progress>();

  /**
   * The answers to a batch. Each is made once, when the first watcher asks for it: a watcher that waits for its reader
   * does so with the rest of the batch.
   */
  *of(batch: WatchBatch<ApiObject>, make: () => Iterable<JsonObject>): Iterable<JsonObject> {
    let progress = this.#made.get(batch);
    if (!progress) {
      progress = { made: [], rest: make()[Symbol.iterator]() };
      this.#made.set(batch, progress);
    }
    for (let at = 0; ; at += 1) {
      const answer = progress.made[at] ?? next(progress);
      if (!answer) return;
      yield answer;
    }
  }
}

function next(progress: Progress): JsonObject | undefined {
  // A generator that has thrown looks like one that has ended.
  if (progress.failure) throw progress.failure.thrown;
  try {
    const result = progress.rest.next();
    if (result.done) return undefined;
    const answer = sharedAnswer(result.value);
    progress.made.push(answer);
    return answer;
  } catch (thrown) {
    progress.failure = { thrown };
    throw thrown;
  }
}
