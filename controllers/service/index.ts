/** Services: their rules, and the controller that keeps one instance and its volumes per ordinal. */
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
export { serviceVerbs } from './verbs.js';
