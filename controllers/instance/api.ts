import type { KindApi } from '../api/kind-entry.js';
import { schedulerController } from '../scheduler/controller.js';
import { instanceRules } from './admission.js';
import { instanceController } from './controller.js';
import type { Instance } from './kind.js';
import { instanceVerbs } from './verbs.js';

/** The API of the kind Instance. */
export const instanceApi: KindApi<Instance> = {
  rules: instanceRules,
  verbs: (parts, { drivers }) => instanceVerbs(parts, drivers),
  controllers: (options) => [schedulerController(options), instanceController(options)],
};
