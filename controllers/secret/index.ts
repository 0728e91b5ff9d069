/** Secrets: sealed in the store, masked in answers, referred to by parameters, opened only for use. */
export { openSecret, placeOf, secretRules } from './admission.js';
export {
  maskParameters,
  type ParameterResolver,
  parameterResolver,
  referencedSecrets,
  referenceViolations,
  sealParameters,
} from './parameters.js';
export { mask, Sealer } from './sealer.js';
