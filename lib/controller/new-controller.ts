import { Controller } from './controller.js';
import type { ControllerOptions, StoreControllerOptions } from './controller-options.js';

/**
 * Creates a controller. Add its watches, then add it to a manager. With a `store`, its runs can write transactionally
 * and record their external calls; see `ReconcileContext`.
 *
 * @example
 * const controller = newController({ name: 'lamp', reconcile
 * }).for(lampInformer).owns(bulbInformer, lamps);
 */
export function newController(options: StoreControllerOptions): Controller;
export function newController(options: ControllerOptions): Controller;
export function newController(options: ControllerOptions | StoreControllerOptions): Controller {
  return new Controller(options);
}
