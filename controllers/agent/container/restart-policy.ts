import { type Logger, messageOf } from 'kedge';
import type { ContainerInspection, EngineContainers } from './engine/engine-containers.js';

/**
 * Resets a restart policy that a user of the engine set (`docker update --restart`). Only Kedge restarts workloads: the
 * engine would restart an ended run even after the volumes of its workload were detached. Success and failure are
 * logged as warnings. After a failure, the next observation retries.
 */
export async function withoutRestartPolicy(
  containers: Pick<EngineContainers, 'neverRestart'>,
  { id, name, restartPolicy }: ContainerInspection,
  logger: Logger,
  signal: AbortSignal,
): Promise<void> {
  if (restartPolicy === '' || restartPolicy === 'no') return;
  const fields = { container: name, restartPolicy };
  try {
    await containers.neverRestart(id, signal);
    logger.warn(
      'the restart policy of a container was changed, and not by Kedge; it is reset',
      fields,
    );
  } catch (error) {
    logger.warn('the restart policy of a container was changed, and could not be reset', {
      ...fields,
      error: messageOf(error),
    });
  }
}
