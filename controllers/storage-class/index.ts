/** Storage classes: which driver, which parameters, and which class is meant when none is named. */
export { storageClassRules, type StorageClassRuleOptions } from './admission.js';
export { classNamed, defaultClassName } from './resolution.js';
export {
  classBasis,
  policyOf,
  processDriver,
  processViolations,
  type ShapeBasis,
  shapeViolations,
} from './shape.js';
export { seedClasses } from './seed.js';
export { chooseTopology, labelsOf, topologyAllows, type TopologyChoice } from './topology.js';
export { storageClassVerbs } from './verbs.js';
