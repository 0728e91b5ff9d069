import type { Condition, Event, ObjectMeta } from 'kedge';
import type { Policy, Token, User } from 'kedge/server';
import type { libraryKinds } from '@kedge/api/kinds';

/** A type with all its fields given, also those of nested messages: a stored object may have more than a request. */
type Given<T> = T extends readonly (infer E)[]
  ? readonly Given<E>[]
  : T extends object
    ? { readonly [K in keyof T]-?: Given<Exclude<T[K], undefined>> }
    : T;

/** `true` if two types have the same fields of the same types; else the type of neither value. */
type Same<A, B> =
  (<T>() => T extends Given<A> ? 1 : 2) extends <T>() => T extends Given<B> ? 1 : 2 ? true : never;

/** `true` if the field names of two types differ by the named ones alone. */
type Beyond<A, B, Names extends string> = Same<
  { readonly names: Exclude<keyof A, keyof B> },
  { readonly names: Names }
>;

/** Stored fields that the API does not have. */
type HiddenOfUser = 'policyUids' | 'nodeUid';
type HiddenOfToken = 'subjectUid' | 'makerUid' | 'secretHash';

/** A line accepts `true` only if the types are the same. */
interface Checks {
  readonly metadata: Same<ObjectMeta, libraryKinds.ObjectMeta>;
  readonly condition: Same<Condition, libraryKinds.Condition>;
  readonly event: Same<Event, libraryKinds.Event>;
  readonly policy: Same<Policy, libraryKinds.Policy>;
  readonly user: Same<Omit<User, HiddenOfUser>, libraryKinds.User>;
  readonly hiddenOfUser: Beyond<User, libraryKinds.User, HiddenOfUser>;
  // Only the response to its creation contains the token itself.
  readonly token: Same<Omit<Token, HiddenOfToken>, Omit<libraryKinds.Token, 'token'>>;
  readonly hiddenOfToken: Beyond<Token, libraryKinds.Token, HiddenOfToken>;
}

describe('kinds of the library', () => {
  it('have the fields of their .proto files, of the same types', () => {
    const checks = {
      metadata: true,
      condition: true,
      event: true,
      policy: true,
      user: true,
      hiddenOfUser: true,
      token: true,
      hiddenOfToken: true,
    } as const satisfies Checks;
    void checks;
  });
});
