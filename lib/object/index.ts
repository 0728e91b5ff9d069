/**
 * The object model: metadata, kinds, keys, conditions, selectors.
 * Objects are plain JSON, deeply read-only in the types. Knows no storage and no transport.
 */
export * from './object.js';
export * from './object-version.js';
export * from './kind.js';
export {
  demandKey,
  demandLookup,
  demandNamespace,
  demandSendable,
  isNamespace,
} from './key-checks.js';
export { defineKind, kindOf, namespaceIndex } from './define-kind.js';
export * from './fields.js';
export * from './declare-kind.js';
export { checkFields, enumNumbers, fieldNumber } from './declaration-checks.js';
export * from './match-fields.js';
export * from './state-machine.js';
export * from './conditions.js';
export * from './selector.js';
export * from './equality.js';
export * from './stored.js';
export * from './watch-event.js';
export * from './cursor.js';
export * from './quantity.js';
