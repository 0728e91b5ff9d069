import type { FieldViolation } from 'kedge';
import { nearest } from '../../near-miss.js';

/**
 * Unknown environment variables that resemble a setting. Others with the prefix are ignored: they may belong to a
 * driver, for example.
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
