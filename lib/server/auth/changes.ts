import { linkSignals, StatusError } from '../../base/index.js';
import { type AnyKind, isDeleting } from '../../object/index.js';
import type { StoreReader } from '../../store/index.js';
import { policies, tokens, users } from './kinds.js';

/**
 * Yields once the watch has begun, and after changes that may revoke a right: a deleted token or node, a changed user or
 * policy. Several changes may be one yield.
 * @throws StatusError of a watch that failed
 */
export async function* rightsChanges(
  store: Pick<StoreReader, 'watch' | 'revision'>,
  signal: AbortSignal,
  nodes?: AnyKind,
): AsyncIterable<void> {
  const fromRevision = store.revision;
  const ended = new AbortController();
  using link = linkSignals(signal, ended.signal);
  // The first yield is immediate: its consumer may have checked the rights before the watch began.
  let pending = true;
  let wake: () => void = () => undefined;
  const changed = (): void => {
    pending = true;
    wake();
  };
  const watched = (kind: AnyKind) => store.watch(kind, { fromRevision, signal: link.signal });
  const failure: { error?: Error } = {};
  const follow = async (kind: AnyKind): Promise<void> => {
    try {
      for await (const { events } of watched(kind)) {
        const isLoss = ({ type, object }: (typeof events)[number]): boolean =>
          type === 'DELETED' || !isBusy(kind) || isDeleting(object);
        if (events.some(isLoss)) changed();
      }
    } catch (error) {
      failure.error = StatusError.from(error);
    }
    changed();
  };
  const own = [tokens, users, policies] as readonly unknown[] as readonly AnyKind[];
  const kinds = nodes ? [...own, nodes] : own;
  // Tokens change with their last use, nodes with each heartbeat: only their deletion matters, also while a finalizer
  // keeps the object.
  const isBusy = ({ kind }: AnyKind): boolean => kind === tokens.kind || kind === nodes?.kind;
  for (const kind of kinds) void follow(kind);
  try {
    while (!signal.aborted) {
      if (!pending)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      pending = false;
      if (failure.error !== undefined) throw failure.error;
      yield;
    }
  } finally {
    ended.abort();
  }
}
