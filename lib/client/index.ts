/** A client for any API that kedge/server serves, driven by the same descriptors; typed by kinds. */
export {
  ApiClient,
  type ApiClientOptions,
  type CallOptions,
  type ClientTls,
  type TokenSource,
} from './client.js';
export type { FollowStart } from './follow.js';
export type { RemoteBatch } from './watch-answers.js';
export { type ResourceList, wholeList, type WholeList } from './whole-list.js';
export { RemoteStore, type RemoteStoreOptions } from './remote-store.js';
export type { RemoteConnection } from './remote-calls.js';
export {
  type Caller,
  ResourceClient,
  type ResourceClientOf,
  type ResourceOptions,
  type ResourceSelection,
} from './resource-client.js';
export type { NewRemoteObject } from './new-remote-object.js';
