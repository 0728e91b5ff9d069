import type { KindApi } from '../api/kind-entry.js';
import { serviceRules } from './admission.js';
import { serviceController } from './controller.js';
import type { Service } from './kind.js';
import { serviceVerbs } from './verbs.js';

/** The API of the kind Service. */
export const serviceApi: KindApi<Service> = {
  rules: serviceRules,
  verbs: (parts, { drivers }) => serviceVerbs(parts, drivers),
  controllers: (options) => [serviceController(options)],
};
