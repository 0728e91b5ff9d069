/** The rules, methods and controllers of all kinds, from the list of kinds. */
export type {
  ApiOptions,
  KindApi,
  KindControllerOptions,
  KindEntry,
  KindRights,
  NodeRight,
} from './kind-entry.js';
