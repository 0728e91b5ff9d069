/**
 * The kinds of Kedge, from the list of kinds.
 *
 * Guarantees: {@link kindEntries} is complete and ordered by name. An import loads no rules and controllers.
 */
import type { AnyKind } from 'kedge';
import type { KindEntry } from '../api/kind-entry.js';
import * as list from './list.js';

// Kinds that the command line refers to by name.
export { configmaps } from '../configmap/kind.js';
export { events } from '../event/kind.js';
export { instances } from '../instance/kind.js';
export { namespaces } from '../namespace/kind.js';
export { secrets } from '../secret/kind.js';
export { volumes } from '../volume/kind.js';

/** The entries of all kinds, ordered by name. */
export const kindEntries: readonly KindEntry[] = Object.values(list);

/** All kinds of the API. */
export const allKinds: readonly AnyKind[] = kindEntries.map(({ kind }) => kind);
