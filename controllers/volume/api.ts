import type { KindApi } from '../api/kind-entry.js';
import { volumeRules } from './admission.js';
import { volumeController } from './reconcile/controller.js';
import type { Volume } from './kind.js';
import { importVerbs } from './import/verbs.js';
import { volumeVerbs } from './verbs.js';

/** The API of the kind Volume. */
export const volumeApi: KindApi<Volume> = {
  rules: volumeRules,
  verbs: (parts, options) => [
    ...volumeVerbs(parts, options.drivers),
    ...importVerbs(parts, options),
  ],
  controllers: (options) => [volumeController(options)],
  callsDrivers: true,
};
