/** Namespaces: their rules, and the controller that empties those being deleted. */
export { namespaceFinalizer, namespaceRules } from './admission.js';
export {
  namespaceController,
  type NamespaceControllerOptions,
  seedNamespaces,
} from './controller.js';
