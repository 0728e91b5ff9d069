/** What a server is made of: the rules, methods and controllers of all kinds, from the one list of them. */
export type {
  ApiOptions,
  KindApi,
  KindControllerOptions,
  KindEntry,
  KindRights,
  NodeRight,
} from './kind-entry.js';
export { type KindsApi, loadKindsApi } from './kinds-api.js';
