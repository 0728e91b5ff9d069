import { counted } from '../base/index.js';
import type { ApiObject } from '../object/index.js';
import type { Handlers } from './handlers.js';
import type { IndexFault } from './indexer.js';
import type { InformerHealth, WatchProgress } from './watch-progress.js';

/** The inputs of an informer's health. */
export interface InformerParts<T extends ApiObject> {
  readonly progress: WatchProgress;
  readonly handlers: Handlers<T>;
  readonly faults: readonly IndexFault[];
  readonly stuckAfterMs: number;
}

/** Returns the health of an informer, as SharedInformer.health describes it. */
export function informerHealth<T extends ApiObject>(parts: InformerParts<T>): InformerHealth {
  const health = parts.progress.health();
  if (!health.healthy) return health;
  for (const { name, callMs, lag } of parts.handlers)
    if (callMs > parts.stuckAfterMs)
      return {
        healthy: false,
        message: `handler "${name}" has not returned for ${Math.round(callMs / 1_000)} s; ${counted(lag, 'change waits', 'changes wait')} for it`,
      };
  const [fault, ...more] = parts.faults;
  if (!fault) return health;
  const others = more.length > 0 ? `, and ${more.length} more` : '';
  const message = `${health.message}; index "${fault.index}" lacks "${fault.key}" (${fault.message})${others}`;
  return { healthy: true, message };
}
