/** A client for any API that kedge/server serves. It uses the same descriptors and is typed by kinds. */
export { ApiClient } from './calls/client.js';
export type {
  ApiClientOptions,
  CallOptions,
  ClientTls,
  TokenSource,
} from './calls/client-options.js';
export type { FollowStart } from './resources/follow.js';
export type { RemoteBatch } from './resources/watch-answers.js';
export { type ResourceList, wholeList, type WholeList } from './resources/whole-list.js';
export { RemoteStore } from './remote/remote-store.js';
export type { RemoteStoreOptions } from './remote/remote-store-options.js';
export type { RemoteConnection } from './remote/remote-calls.js';
export { ResourceClient, type ResourceClientOf } from './resources/resource-client.js';
export type { Caller, ResourceOptions, ResourceSelection } from './resources/resource-options.js';
export type { NewRemoteObject } from './resources/new-remote-object.js';
