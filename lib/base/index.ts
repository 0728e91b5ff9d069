/**
 * The base of all other modules: errors, clock, randomness, limits, the logger port. It depends on
 * neither objects nor storage.
 */
// The declarations of the library need these types, regardless of the `lib` and `types` options of the project.
/// <reference lib="esnext.disposable" preserve="true" />
/// <reference types="node" preserve="true" />
export * from './errors.js';
export * from './clock.js';
export * from './time-slice.js';
export * from './time-share.js';
export * from './random.js';
export * from './logger.js';
export * from './backoff.js';
export * from './counted.js';
export * from './limits.js';
export * from './metrics.js';
export * from './tracing.js';
export * from './callback-faults.js';
export * from './guarded-ports.js';
export * from './linked-signal.js';
export * from './runnable.js';
export * from './promises/within.js';
export * from './require-options.js';
