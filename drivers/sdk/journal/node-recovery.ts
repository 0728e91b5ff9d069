import { DriverError } from '../errors/errors.js';
import type { NodeJournal, NodePlaces, NodeState } from './node-journal.js';

/**
 * Undoes the mounts, loop devices and freezes left by a process that died. Each method succeeds if its resource does
 * not exist.
 * @throws DriverError
 */
export interface NodeUndo {
  thaw(state: Extract<NodeState, { type: 'freeze' }>): Promise<void>;
  unmount(state: Extract<NodeState, { type: 'mount' }>): Promise<void>;
  detach(state: Extract<NodeState, { type: 'loop' }>): Promise<void>;
  /** For damaged records; without it they are set aside. */
  readonly places?: NodePlaces;
}

/** The result of a recovery. */
export interface Recovery {
  readonly undone: readonly NodeState[];
  /** States that are still recorded; the next recovery retries them. */
  readonly failed: readonly { readonly state: NodeState; readonly error: DriverError }[];
  /** States of damaged records that were identified by their names; their records were rewritten if possible. */
  readonly repaired: readonly NodeState[];
  /** Places of records that could not be read and were set aside. */
  readonly damaged: readonly string[];
}

/**
 * Undoes the recorded mounts, loop devices and freezes that `isWanted` rejects, freezes first: a frozen file system
 * blocks writes. A failed undo is returned in `failed`, and its record is kept.
 */
export async function recoverNode(
  journal: NodeJournal,
  undo: NodeUndo,
  isWanted: (state: NodeState) => boolean,
): Promise<Recovery> {
  const undone: NodeState[] = [];
  const failed: { readonly state: NodeState; readonly error: DriverError }[] = [];
  const { states, repaired, damaged } = await journal.replay(undo.places);
  for (const state of states) {
    if (isWanted(state)) continue;
    try {
      await journal.undo(state, () => undoState(undo, state));
      undone.push(state);
    } catch (error) {
      failed.push({ state, error: DriverError.from(error) });
    }
  }
  return { undone, failed, repaired, damaged };
}

function undoState(undo: NodeUndo, state: NodeState): Promise<void> {
  switch (state.type) {
    case 'freeze':
      return undo.thaw(state);
    case 'mount':
      return undo.unmount(state);
    case 'loop':
      return undo.detach(state);
  }
}
