import { type Logger, messageOf, StatusError } from '../../base/index.js';
import { describeCauses } from '../watches/causes.js';
import type { Request } from './context.js';
import type { Result } from './result.js';

/** Logs a run that did not succeed. Conflicts are expected with optimistic concurrency: they are logged at debug. */
export function logOutcome(logger: Logger, key: string, result: Result, request: Request): void {
  if (result.type !== 'retry' && result.type !== 'fail') return;
  const { run, failures } = request;
  const causes = describeCauses(request.causes);
  if (result.type === 'fail') {
    const { reason, message: error } = result;
    logger.warn('reconcile failed permanently', { key, run, reason, error, causes });
    return;
  }
  const conflict = result.error instanceof StatusError && result.error.code === 'Aborted';
  const fields = { key, run, error: messageOf(result.error), failures: failures + 1, causes };
  if (conflict) logger.debug('reconcile again', fields);
  else logger.warn('reconcile failed, will retry', fields);
}
