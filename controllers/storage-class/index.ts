/**
 * Storage classes: driver, parameters, topology, and the default class.
 *
 * Guarantees: {@link chooseTopology} and {@link shapeViolations} are pure. A volume stores the name of its class at its
 * creation, so that another default class does not change it.
 *
 * Caveats: a provisioned volume keeps the parameters of its provisioning; only credentials come from the present class.
 */
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
