/** Configmaps: their rules. */
export { configmapRules } from './admission.js';
