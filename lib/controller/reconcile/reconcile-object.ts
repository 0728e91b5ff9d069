import { type ApiObject, keyString } from '../../object/index.js';
import type { SharedInformer } from '../../informer/index.js';
import type { Request } from './context.js';
import { done, type Result } from './result.js';

/**
 * A reconciler that gets the cached object. `gone` is called for a key without an object; external
 * cleanup belongs in finalizers instead.
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
