import type { KindApi } from '../api/kind-entry.js';
import { namespaceRules } from './admission.js';
import { namespaceController } from './controller.js';
import type { Namespace } from './kind.js';

/** The API of the kind Namespace. */
export const namespaceApi: KindApi<Namespace> = {
  rules: namespaceRules,
  controllers: (options) => [namespaceController(options)],
};
