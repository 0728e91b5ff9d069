/**
 * The kinds of Kedge, one line each. Whatever knows all kinds takes them from here: the API, the command line,
 * the events, the built-in policies, the rotation of keys.
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
