import type { ApiObject, InScope, NewFields, Scope } from '../../object/index.js';

/** The input of a creation by a client. Clients set only annotations in the metadata. */
export type NewRemoteObject<T extends ApiObject, N extends Scope = Scope, C = unknown> = NewFields<
  T,
  C
> &
  InScope<N> & {
    readonly metadata?: Partial<Pick<T['metadata'], 'annotations'>>;
  };
