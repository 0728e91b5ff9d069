import { StatusError } from '../../base/index.js';
import type { StoreHealth } from '../../store/index.js';

/** Maps the state of `ObjectService.Status` to the health of the remote store. */
export function healthOf(state: string): StoreHealth {
  const reported = (reason: string): StatusError =>
    new StatusError({
      code: 'Unavailable',
      reason,
      message: `the server's store is ${state.toLowerCase()}; its log has the reason`,
    });
  switch (state) {
    case 'FULL':
      return { state: 'full', error: reported('StoreFull') };
    case 'POISONED':
      return { state: 'poisoned', error: reported('StorePoisoned') };
    default:
      return { state: 'serving' };
  }
}
