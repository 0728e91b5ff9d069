/** Storage classes: driver, parameters, and the default class. */
export { storageClassRules, type StorageClassRuleOptions } from './admission.js';
export { classNamed, defaultClassName } from './resolution.js';
export {
  classBasis,
  policyOf,
  processViolations,
  type ShapeBasis,
  shapeViolations,
} from './volume-shape.js';
export { seedClasses } from './seed.js';
export {
  chooseTopology,
  labelsOf,
  type NamedTopology,
  namedTopology,
  topologyAllows,
  type TopologyChoice,
} from './topology.js';
export { storageClassVerbs } from './verbs.js';
