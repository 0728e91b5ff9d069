import type { KindApi } from '../api/kind-entry.js';
import { volumeRules } from './admission.js';
import { volumeController } from './reconcile/controller.js';
import type { Volume } from './kind.js';
import { volumeVerbs } from './verbs.js';

/** The API of the kind Volume. */
export const volumeApi: KindApi<Volume> = {
  rules: volumeRules,
  verbs: volumeVerbs,
  controllers: (options) => [volumeController(options)],
  callsDrivers: true,
};
