import { hasCode, sleep, systemClock, systemRandom } from '../../base/index.js';
import { type ApiObject, asObject, keyOf, type ObjectKey } from '../../object/index.js';

/** Distinguishes a repeated creation from another client's object. */
const requestAnnotation = 'kedge.dev/request';
/** Delay before a creation whose answer was lost is repeated, times the number of attempts so far. */
const resumeMs = 250;

/** The calls of a creation. */
export interface CreateCalls<T extends ApiObject> {
  readonly create: (object: object) => Promise<T>;
  readonly get: (key: ObjectKey) => Promise<T | undefined>;
}

/**
 * Creates an object with up to `attempts` calls if answers are lost. If a repetition finds the object of an earlier
 * call, resolves to that object.
 * @throws StatusError of the last call; after Unavailable or DeadlineExceeded the object may exist
 */
export async function createRepeated<T extends ApiObject>(
  calls: CreateCalls<T>,
  object: object,
  attempts: number,
): Promise<T> {
  const key = systemRandom.uuid();
  const { metadata } = asObject(object);
  const annotations = { ...metadata?.annotations, [requestAnnotation]: key };
  const marked = attempts > 1 ? { ...object, metadata: { ...metadata, annotations } } : object;
  for (let tries = 1, lost = false; ; tries += 1) {
    try {
      return await calls.create(marked);
    } catch (error) {
      if (lost && hasCode(error, 'AlreadyExists')) {
        const found = await calls.get(keyOf(asObject(object)));
        if (found?.metadata.annotations?.[requestAnnotation] === key) return found;
      }
      const unknown = hasCode(error, 'Unavailable') || hasCode(error, 'DeadlineExceeded');
      if (!unknown || tries >= attempts) throw error;
      lost = true;
      await sleep(systemClock, resumeMs * tries);
    }
  }
}
