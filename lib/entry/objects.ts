/**
 * What `kedge/objects` exports: errors, clocks, kinds, keys, conditions and selectors, without store and controllers.
 * Programs that only talk to an API load a fifth of the library this way.
 */
export * from '../base/index.js';
export * from '../object/index.js';
