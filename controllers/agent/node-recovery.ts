import type { Logger } from 'kedge';
import {
  type NodeJournal,
  type NodeState,
  nodeUndo,
  recoverNode,
  type RunCommand,
  runCommand,
} from '@kedge/driver-sdk';

/** What a recovery works with. */
export interface RecoveryOptions {
  readonly journal: NodeJournal;
  readonly logger: Logger;
  readonly run?: RunCommand;
}

/**
 * Thaws what a daemon that was killed left frozen. Before controllers and agent start: none of this
 * process's own freezes is in the journal then.
 */
export function thawLeftovers(options: RecoveryOptions, signal: AbortSignal): Promise<void> {
  return recover(options, ({ type }) => type !== 'freeze', signal);
}

/** Unmounts and detaches what a daemon that was killed left, except of volumes in `attached`. */
export function detachLeftovers(
  options: RecoveryOptions,
  attached: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<void> {
  return recover(options, ({ type, uid }) => type === 'freeze' || attached.has(uid), signal);
}

async function recover(
  { journal, logger, run = runCommand }: RecoveryOptions,
  isWanted: (state: NodeState) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { undone, failed } = await recoverNode(journal, nodeUndo(run, signal), isWanted);
  for (const state of undone) logger.warn('what a killed daemon left was undone', { ...state });
  for (const { state, error } of failed)
    logger.error('what a killed daemon left could not be undone, the next start tries again', {
      ...state,
      error: error.message,
    });
}
