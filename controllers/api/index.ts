/**
 * The entry of a kind: its rules, methods, controllers and rights. Types only.
 *
 * Guarantees: the lists of kinds, rights and events are derived from these entries.
 *
 * Caveats: {@link KindEntry.api} is loaded by servers only; a client has no rules and methods.
 */
export type {
  ApiOptions,
  KindApi,
  KindControllerOptions,
  KindEntry,
  KindRights,
  NodeRight,
} from './kind-entry.js';
