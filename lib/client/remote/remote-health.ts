import { StatusError } from '../../base/index.js';
import type { StoreHealth } from '../../store/index.js';

/** What `ObjectService.Status` says of a store's state, as the health of the store here. */
export function healthOf(state: string): StoreHealth {
  const told = (reason: string): StatusError =>
    new StatusError({
      code: 'Unavailable',
      reason,
      message: `the server's store is ${state.toLowerCase()}; its log tells why`,
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
