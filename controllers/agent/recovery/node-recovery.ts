import { basename } from 'node:path';
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

/** Options of a recovery. */
export interface RecoveryOptions {
  readonly journal: NodeJournal;
  readonly logger: Logger;
  readonly host?: NodeHost;
  /** Default: programs of the host. */
  readonly undo?: (signal: AbortSignal) => NodeUndo;
}

/** Maximum wait of a start for freezes that can't be undone, for example on an unresponsive device. */
const thawMsMax = 30_000;

/**
 * Thaws file systems that a killed daemon left frozen, for at most 30 s. Logs a thaw that fails. Runs before controllers
 * and agent start, when the journal has no freezes of this process.
 * @throws Error if the journal can't be replayed
 */
export async function thawLeftovers(
  options: RecoveryOptions & { readonly clock: Clock },
): Promise<void> {
  const deadline = new AbortController();
  const over = new AbortController();
  const recovery = recover(options, ({ type }) => type !== 'freeze', deadline.signal);
  const expiry = sleep(options.clock, thawMsMax, over.signal).then(() => {
    if (over.signal.aborted) return;
    // A late undo must not thaw: the file system may be frozen for a new snapshot by then.
    deadline.abort();
    options.logger.error(
      `file systems that a killed daemon froze are not thawed after ${thawMsMax / 1_000} s; the start continues, and the next start retries`,
    );
    // Its outcome is logged; a late failure of the journal can't stop the start.
    recovery.catch((error: unknown) =>
      options.logger.error('the journal of the node could not be replayed', { error }),
    );
  });
  await Promise.race([recovery.finally(() => over.abort()), expiry]);
}

/**
 * Unmounts and detaches the mounts and loop devices that a killed daemon left, except for volumes whose uid is wanted.
 * Logs those that can't be undone; the next start retries them.
 * @throws Error if the journal can't be replayed
 */
export function detachLeftovers(
  options: RecoveryOptions,
  isWanted: (uid: string) => boolean,
  signal: AbortSignal,
): Promise<void> {
  return recover(options, ({ type, uid }) => type === 'freeze' || isWanted(uid), signal);
}

async function recover(
  { journal, logger, host = thisNode, undo = (s) => nodeUndo(host, journal, s) }: RecoveryOptions,
  isWanted: (state: NodeState) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const { undone, failed, repaired, damaged } = await recoverNode(journal, undo(signal), isWanted);
  for (const state of repaired)
    logger.warn(
      'a damaged record of the node journal was identified by its name, and rewritten if possible',
      { ...state },
    );
  for (const place of damaged) logger.error(damagedMessage(place), { place });
  for (const state of undone)
    logger.warn('mounts, loop devices and freezes of a killed daemon were undone', { ...state });
  for (const { state, error } of failed)
    logger.error(
      'mounts, loop devices and freezes of a killed daemon could not be undone; the next start retries',
      {
        ...state,
        error: error.message,
      },
    );
}

/** The remedy for a record that can't be read and matches no resource of the node. */
function damagedMessage(place: string): string {
  const [, uid] = /^freeze-(.+)-[0-9a-f]{16}\.damaged$/.exec(basename(place)) ?? [];
  const damaged = 'a record of the node journal was damaged and set aside';
  if (uid === undefined) return `${damaged}; inspect it, then remove it: rm ${place}`;
  return `${damaged}: the file system of volume ${uid} may be frozen, so that every write to it hangs. Find where it is mounted (findmnt | grep ${uid}), thaw it (fsfreeze --unfreeze PATH), then remove the record: rm ${place}`;
}
