import { StatusError } from '../../base/index.js';
import type { StoreHealth } from '../../store/index.js';

/** Maps the state of `ObjectService.Status` to the health of the remote store. */
export function healthOf(state: string): StoreHealth {
  const told = (reason: string): StatusError =>
    new StatusError({
      code: 'Unavailable',
      reason,
      message: `the server's store is ${state.toLowerCase()}; its log has the reason`,
    });
  switch (state) {
    case 'FULL':
      return { state: 'full', error: told('StoreFull') };
    case 'POISONED':
      return { state: 'poisoned', error: told('StorePoisoned') };
    default:
      return { state: 'serving' };
  }
}
