import type { ApiObject, InScope, NewFields, Scope } from '../../object/index.js';

/** An object as a client creates it. */
export type NewRemoteObject<T extends ApiObject, N extends Scope = Scope, C = unknown> = NewFields<
  T,
  C
> &
  InScope<N> & {
    readonly metadata?: Partial<Pick<T['metadata'], 'annotations'>>;
  };
