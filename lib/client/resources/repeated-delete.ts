import { hasCode } from '../../base/index.js';
import type { ApiObject } from '../../object/index.js';

/** The calls of a deletion. */
export interface DeleteCalls<T extends ApiObject> {
  /** Deletes the object by uid. Calls `onLostAnswer` before each repetition that follows a lost answer. */
  readonly delete: (onLostAnswer: () => void) => Promise<T>;
  /** The object that has the name now. */
  readonly get: () => Promise<T | undefined>;
}

/** Deletes `object`. If an answer was lost and the repetition finds the object removed, resolves to `object`. */
export async function deleteRepeated<T extends ApiObject>(
  calls: DeleteCalls<T>,
  object: T,
): Promise<T> {
  let lost = false;
  try {
    return await calls.delete(() => {
      lost = true;
    });
  } catch (error) {
    if (!lost || !(await isGone(calls, object, error))) throw error;
    return object;
  }
}

/** Whether a deletion was refused because the object does not exist any more, also if another one has its name. */
async function isGone<T extends ApiObject>(
  calls: DeleteCalls<T>,
  object: T,
  refusal: unknown,
): Promise<boolean> {
  if (hasCode(refusal, 'NotFound')) return true;
  return hasCode(refusal, 'Aborted') && (await calls.get())?.metadata.uid !== object.metadata.uid;
}
