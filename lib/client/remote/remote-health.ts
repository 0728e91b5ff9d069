import { StatusError } from '../../base/index.js';
import type { StoreHealth } from '../../store/index.js';

function reported(reason: string, message: string): StatusError {
  return new StatusError({ code: 'Unavailable', reason, message });
}

/** Maps the state of `ObjectService.Status` to the health of the remote store. */
export function healthOf(state: string): StoreHealth {
  switch (state) {
    case 'FULL': {
      const message = "the disk of the server's store is nearly full; free space on it";
      return { state: 'full', error: reported('StoreFull', message) };
    }
    case 'POISONED': {
      const message =
        "a write of the server's store failed; it accepts writes again once it could reopen its files";
      return { state: 'poisoned', error: reported('StorePoisoned', message) };
    }
    default:
      return { state: 'serving' };
  }
}
