/** The kinds of Kedge: what each object is made of, from the one list of them. */
import type { AnyKind } from 'kedge';
import type { KindEntry } from '../api/kind-entry.js';
import * as list from './list.js';

// Those that the command line names itself.
export { configmaps } from '../configmap/kind.js';
export { events } from '../event/kind.js';
export { instances } from '../instance/kind.js';
export { namespaces } from '../namespace/kind.js';
export { secrets } from '../secret/kind.js';
export { volumes } from '../volume/kind.js';

/** Every kind with what is derived from it, in the order of their names. */
export const kindEntries: readonly KindEntry[] = Object.values(list);

/** Every kind that is served. */
export const allKinds: readonly AnyKind[] = kindEntries.map(({ kind }) => kind);
