import { limits, requireSynchronous } from '../../base/index.js';
import type { ApiObject, IndexFunction } from '../../object/index.js';

/** An invalid result of an index function. The message does not quote it. */
export class WrongValues extends TypeError {
  override readonly name = 'WrongValues';
}

/**
 * The distinct values of an object in an index.
 * @throws errors of the function; WrongValues for a promise, for anything but a list of strings, and above
 * `limits.indexValuesMax` values or `limits.indexValueCharactersMax` characters of one
 */
export function indexValues(of: IndexFunction<ApiObject>, object: ApiObject): readonly string[] {
  const given: unknown = requireNoPromise(of(object));
  if (!Array.isArray(given)) throw new WrongValues('a value that is not a list');
  const { indexValuesMax, indexValueCharactersMax } = limits;
  if (given.length > indexValuesMax)
    throw new WrongValues(`${given.length} values, and at most ${indexValuesMax} are allowed`);
  for (const value of given as readonly unknown[]) {
    if (typeof value !== 'string') throw new WrongValues('a value that is not a string');
    if (value.length > indexValueCharactersMax)
      throw new WrongValues(
        `a value of ${value.length} characters, and at most ${indexValueCharactersMax} are allowed`,
      );
  }
  const values = given as readonly string[];
  return values.length > 1 ? [...new Set(values)] : [...values];
}

/** Returns the value unless it is a promise. @throws WrongValues for a promise: its rejection would end the process */
function requireNoPromise(given: unknown): unknown {
  try {
    return requireSynchronous('it', given);
  } catch {
    throw new WrongValues('a promise; it must return synchronously');
  }
}
