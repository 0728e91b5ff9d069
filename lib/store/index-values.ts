import { limits } from '../base/index.js';
import type { ApiObject, IndexFunction } from '../object/index.js';

/**
 * The values of an object in an index, each once.
 * @throws what the function throws; TypeError when it gives no list of strings; RangeError beyond
 * `limits.indexValuesMax` values or `limits.indexValueCharactersMax` characters of one
 */
export function indexValues(of: IndexFunction<ApiObject>, object: ApiObject): readonly string[] {
  const given: unknown = of(object);
  if (!Array.isArray(given)) throw new TypeError('the function gave no list');
  const { indexValuesMax, indexValueCharactersMax } = limits;
  if (given.length > indexValuesMax)
    throw new RangeError(`${given.length} values, at most ${indexValuesMax} are allowed`);
  for (const value of given as readonly unknown[]) {
    if (typeof value !== 'string') throw new TypeError('the function gave a value that is no text');
    if (value.length > indexValueCharactersMax)
      throw new RangeError(
        `a value of ${value.length} characters, at most ${indexValueCharactersMax} are allowed`,
      );
  }
  const values = given as readonly string[];
  return values.length > 1 ? [...new Set(values)] : [...values];
}
