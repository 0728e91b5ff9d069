/**
 * What a storage driver implements and what helps it: the interface, the closed set of errors,
 * parameter rules as data. Imports nothing of Kedge.
 */
export * from './driver.js';
export * from './errors.js';
export * from './parameters.js';
export { declaredDriver, type DriverDeclaration } from './declared-driver.js';
