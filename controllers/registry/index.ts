/** Image registries: their rules. */
export { registryRules } from './admission.js';
