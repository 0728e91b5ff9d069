/**
 * Namespaces: their rules, and the controller that empties those being deleted.
 *
 * Guarantees:
 * - A namespace is removed only if it contains nothing except events.
 * - Its objects are deleted under the rules of a user's DELETE: a volume in use remains.
 *
 * Ordering: services and instances first, then snapshots, volumes, secrets, configmaps and events.
 *
 * Caveats: a deletion takes as long as the objects need. Condition `ContentRemaining` names up to 3 of them.
 */
export { namespaceFinalizer, namespaceRules } from './admission.js';
export {
  namespaceController,
  type NamespaceControllerOptions,
  seedNamespaces,
} from './controller.js';
