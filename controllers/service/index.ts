/**
 * Services: their rules, and the controller that keeps one instance and its volumes per ordinal.
 *
 * Guarantees:
 * - Ordinals are 0 to scale - 1. A service never has two instances of one ordinal.
 * - After a change of the template, one instance is replaced at a time. The next one follows once all instances of the
 *   new template are ready.
 * - {@link planService} is pure.
 *
 * Caveats: the volume of a removed ordinal remains unless `retention.whenScaled` is delete.
 */
export {
  maskedTemplates,
  serviceFinalizer,
  type ServiceRuleOptions,
  serviceRules,
} from './admission.js';
export { serviceController, type ServiceControllerOptions } from './controller.js';
export { isReady, planService, type ServicePlan, type ServiceSituation } from './plan.js';
export { type UsedData, usedData } from './used-data.js';
export { filePathProblem } from './mount-rules.js';
export { variableProblem } from './variables.js';
export { serviceVerbs } from './verbs.js';
