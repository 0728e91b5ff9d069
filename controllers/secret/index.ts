/**
 * Secrets: sealed in the store, masked in answers, referred to by parameters, opened only for use.
 *
 * Guarantees:
 * - A value is stored only in sealed form. It can be opened only at the place that it was sealed for.
 * - A rotation of the key-encryption key changes no value, and a repeated call completes an interrupted one.
 *
 * Errors: Internal (UnsealFailed) if a value can't be opened.
 *
 * Caveats: a process with the store and the key-encryption key can open every value.
 */
export { openSecret, placeOf, secretRules } from './admission.js';
export { shownHandle } from './confidential-driver.js';
export type { Redaction } from './redaction.js';
export {
  type ConfidentialCalls,
  maskParameters,
  type ParameterResolver,
  parameterResolver,
  rebindParameters,
  referenceViolations,
  sealParameters,
  type Sealing,
  storedParameters,
  retried,
} from './parameters.js';
export { keyVerbs } from './verbs.js';
export { KeyRotation, type KeyRotationOptions, type KeySource } from './key-rotation.js';
export { type Holder, holderOf, isSealed, mask, sealedBody, Sealer } from './sealer.js';
export { placesIn, type SealedValue, sealedValuesIn } from './sealed-values.js';
