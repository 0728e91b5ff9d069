/**
 * The object model: metadata, kinds, keys, conditions, selectors. Objects are plain JSON, deeply read-only in the
 * types. It depends on neither storage nor transports.
 */
export * from './kinds/object.js';
export * from './object-version.js';
export * from './kinds/kind.js';
export {
  isNamespace,
  requireKey,
  requireLookup,
  requireNamespace,
  requireSendable,
} from './kinds/key-checks.js';
export { defineKind, kindOf, namespaceIndex } from './kinds/define-kind.js';
export * from './fields/field.js';
export * from './fields/fields.js';
export * from './kinds/declare-kind.js';
export { checkFields, enumNumbers, fieldNumber } from './fields/declaration-checks.js';
export * from './match-fields.js';
export * from './kinds/state-machine.js';
export * from './fields/conditions.js';
export * from './selector.js';
export * from './fields/equality.js';
export * from './stored.js';
export * from './watch-event.js';
export * from './cursor.js';
export * from './quantity.js';
