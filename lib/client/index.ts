/** A client for any API that kedge/server serves, driven by the same descriptors; typed by kinds. */
export { ApiClient } from './client.js';
export type { ApiClientOptions, CallOptions, ClientTls, TokenSource } from './client-options.js';
export type { FollowStart } from './follow.js';
export type { RemoteBatch } from './watch-answers.js';
export { type ResourceList, wholeList, type WholeList } from './whole-list.js';
export { RemoteStore, type RemoteStoreOptions } from './remote-store.js';
export type { RemoteConnection } from './remote-calls.js';
export { ResourceClient, type ResourceClientOf } from './resource-client.js';
export type { Caller, ResourceOptions, ResourceSelection } from './resource-options.js';
export type { NewRemoteObject } from './new-remote-object.js';
