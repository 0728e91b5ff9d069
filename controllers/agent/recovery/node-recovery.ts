import { type Clock, type Logger, sleep } from 'kedge';
import {
  type NodeHost,
  type NodeJournal,
  type NodeState,
  type NodeUndo,
  nodeUndo,
  recoverNode,
  thisNode,
} from '@kedge/driver-sdk';

/** What a recovery works with. */
export interface RecoveryOptions {
  readonly journal: NodeJournal;
  readonly logger: Logger;
  readonly host?: NodeHost;
  /** Undoes with the programs of the host by default. */
  readonly undo?: (signal: AbortSignal) => NodeUndo;
}

/** A start waits so long for freezes that can't be undone, such as on a device that does not answer. */
const thawMsMax = 30_000;

/**
 * Thaws what a daemon that was killed left frozen. Before controllers and agent start: none of this
 * process's own freezes is in the journal then.
 */
export async function thawLeftovers(
  options: RecoveryOptions & { readonly clock: Clock },
): Promise<void> {
  const deadline = new AbortController();
  const over = new AbortController();
  const recovery = recover(options, ({ type }) => type !== 'freeze', deadline.signal);
  const expiry = sleep(options.clock, thawMsMax, over.signal).then(() => {
    if (over.signal.aborted) return;
    // What still runs thaws nothing any more: by then the file system may be frozen for a new copy.
    deadline.abort();
    options.logger.error(
      `freezes that a killed daemon left are not undone after ${thawMsMax / 1_000} s; the start goes on, and the next one tries again`,
    );
    // Its outcome is in the log; a failure of the journal comes too late to stop the start.
    recovery.catch((error: unknown) =>
      options.logger.error('the journal of the node could not be replayed', { error }),
    );
  });
  await Promise.race([recovery.finally(() => over.abort()), expiry]);
}

/** Unmounts and detaches what a daemon that was killed left, except of volumes whose uid is wanted. */
export function detachLeftovers(
  options: RecoveryOptions,
  isWanted: (uid: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  return recover(options, ({ type, uid }) => type === 'freeze' || isWanted(uid), signal);
}

async function recover(
  { journal, logger, host = thisNode, undo = (s) => nodeUndo(host, s) }: RecoveryOptions,
  isWanted: (state: NodeState) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { undone, failed, damaged } = await recoverNode(journal, undo(signal), isWanted);
  for (const place of damaged)
    logger.error(
      'a record of the node journal was damaged and set aside; look at it, and remove it',
      {
        place,
      },
    );
  for (const state of undone) logger.warn('what a killed daemon left was undone', { ...state });
  for (const { state, error } of failed)
    logger.error('what a killed daemon left could not be undone, the next start tries again', {
      ...state,
      error: error.message,
    });
}
