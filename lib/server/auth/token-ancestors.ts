import { failedPrecondition } from '../../base/index.js';
import { after, type Later } from '../../base/promises/later.js';
import type { Identity } from './identity.js';

/** Maximum number of ancestors of a token: each call checks all of them. */
export const ancestorsMax = 8;

/**
 * The identities whose rights a call needs: the caller and the creators of its token. Consecutive equal accounts
 * are merged.
 */
export function holders(identity: Identity): readonly Identity[] {
  const found = [identity];
  for (let parent = identity.parent; parent; parent = parent.parent) {
    const { uid } = found[found.length - 1] ?? identity;
    if (parent.uid === undefined || parent.uid !== uid) found.push(parent);
  }
  return found;
}

/** True if the caller and all creators of its token have a right. */
export function allHolders(
  identity: Identity,
  has: (holder: Identity) => Later<boolean>,
): Later<boolean> {
  if (!identity.parent) return after(has(identity), (found) => found === true);
  const all = holders(identity);
  const from = (at: number): Later<boolean> => {
    const holder = all[at];
    return !holder || after(has(holder), (found) => found === true && from(at + 1));
  };
  return from(0);
}

/** The nodes that the access of a call is restricted to, as one string. */
export function nodesOf(identity: Identity): string {
  return holders(identity)
    .map(({ node = '' }) => node)
    .join(' ');
}

/**
 * Checks that a caller may create a further token.
 * @throws StatusError FailedPrecondition (TooManyAncestors) if its own token has the maximum number of ancestors
 */
export function requireTokenDepth(identity: Identity): void {
  let count = 1;
  for (let { parent } = identity; parent; { parent } = parent) count += 1;
  if (count <= ancestorsMax) return;
  throw failedPrecondition(
    'TooManyAncestors',
    `token "${identity.tokenId}" was created through a chain of ${ancestorsMax} other tokens, which is the maximum; create the new token with one of those`,
  );
}
