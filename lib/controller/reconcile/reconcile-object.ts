import { type ApiObject, keyString } from '../../object/index.js';
import type { SharedInformer } from '../../informer/index.js';
import type { Request } from './context.js';
import { done, type Result } from './result.js';

/**
 * A reconciler that is given the object, as the cache has it. `gone` is called for a key without
 * one: there is nothing to do unless something outside has to be cleaned up, and for that there are
 * finalizers.
 */
export function reconcileObject<T extends ApiObject, I extends string, C extends Request>(
  informer: SharedInformer<T, I>,
  reconcile: (object: T, context: C) => Promise<Result>,
  gone?: (context: C) => Promise<Result>,
): (context: C) => Promise<Result> {
  return (context) => {
    const object = informer.lister.get(keyString(context.key));
    if (object) return reconcile(object, context);
    return gone?.(context) ?? Promise.resolve(done());
  };
}
