import type { RemedyOf } from './remedy.js';

/** The meaning of a condition's reason. */
export type ReasonEntry =
  | { readonly type: 'settled'; readonly meaning: string }
  | { readonly type: 'unmet'; readonly meaning: string; readonly remedy: RemedyOf };

/** Declares a reason for a desired state, which needs no remedy. */
export function settled(meaning: string): { readonly type: 'settled'; readonly meaning: string } {
  return { type: 'settled', meaning };
}

/** A reason that describes a problem, with its remedy. */
export function unmet(
  meaning: string,
  remedy: RemedyOf,
): { readonly type: 'unmet'; readonly meaning: string; readonly remedy: RemedyOf } {
  return { type: 'unmet', meaning, remedy };
}
