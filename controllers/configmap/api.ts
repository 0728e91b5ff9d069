import type { KindApi } from '../api/kind-entry.js';
import { configmapRules } from './admission.js';
import type { Configmap } from './kind.js';

/** The API of the kind Configmap. */
export const configmapApi: KindApi<Configmap> = {
  rules: configmapRules,
};
