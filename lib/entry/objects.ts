/**
 * The entry point `kedge/objects`: errors, clocks, kinds, keys, conditions and selectors, without store and
 * controllers. For a program that only calls an API it loads less than a fifth of the library.
 */
export * from '../base/index.js';
export * from '../object/index.js';
