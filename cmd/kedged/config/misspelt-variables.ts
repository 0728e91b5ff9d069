import type { FieldViolation } from 'kedge';
import { nearest } from '../../near-miss.js';

/**
 * Environment variables that set nothing and look like one that does. Others of the prefix are left alone:
 * they may be somebody else's, such as a driver's.
 */
export function misspeltVariables(
  environment: Readonly<Record<string, string | undefined>>,
  known: ReadonlySet<string>,
): readonly FieldViolation[] {
  return Object.keys(environment)
    .filter((name) => name.startsWith('KEDGE') && !known.has(name))
    .flatMap((name) => {
      const meant = nearest(name, known);
      if (meant === undefined) return [];
      return [{ field: name, description: `is not a setting; did you mean ${meant}?` }];
    });
}
