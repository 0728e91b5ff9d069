/**
 * Texts that controllers and agents write into conditions and that remedies read. A text with a name that a remedy
 * needs is written by its form, so that a change of the text changes both. Imports nothing of the other folders.
 *
 * Caveats: texts are no interface; programs use reasons.
 */
export * as inputTexts from './inputs.js';
export * as namespaceTexts from './namespaces.js';
export * as nodeTexts from './nodes.js';
export * as placementTexts from './placement.js';
export * as startTexts from './starts.js';
export * as storageTexts from './storage.js';
export * as storageRootTexts from './storage-root.js';
