/** kedge: a controller library. docs/ARCHITECTURE.md describes its layers. */

// For embedders.
export * from './base/index.js';
export * from './object/index.js';
export * from './store/index.js';
export * from './workqueue/index.js';
export * from './informer/index.js';
export * from './controller/index.js';
export * from './election/index.js';
export * from './manager/index.js';
