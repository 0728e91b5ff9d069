/**
 * The kinds of Kedge, one line each. The single list for the API, the command line, events, built-in policies and
 * key rotation.
 */
export { policyKind, tokenKind, userKind } from '../access/entry.js';
export { configmapKind } from '../configmap/entry.js';
export { eventKind } from '../event/entry.js';
export { instanceKind } from '../instance/entry.js';
export { namespaceKind } from '../namespace/entry.js';
export { nodeKind } from '../node/entry.js';
export { registryKind } from '../registry/entry.js';
export { secretKind } from '../secret/entry.js';
export { serviceKind } from '../service/entry.js';
export { snapshotKind } from '../snapshot/entry.js';
export { storageClassKind } from '../storage-class/entry.js';
export { volumeKind } from '../volume/entry.js';
