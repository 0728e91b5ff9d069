/** A client for any API that kedge/server serves, driven by the same descriptors. */
export { ApiClient, type ApiClientOptions } from './client.js';
