import { type AnyKind, type ApiObject, messageOf } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import type { JsonObject } from 'kedge/rpc';
import { printable } from '../../terminal-text.js';
import { note } from '../output/output.js';
import { causeIn } from './connection-faults.js';

/** The last received state of an object. */
export interface ObservedObject {
  readonly kind: AnyKind;
  readonly object: JsonObject;
  readonly deleted: boolean;
}

/** One kind to follow, in one namespace. */
export interface FollowTarget {
  readonly kind: AnyKind;
  /** `-` means all. */
  readonly namespace: string;
  readonly labelSelector?: string;
}

/**
 * Follows several kinds in one namespace each; calls `onChange` with every state, the present ones first. Resumes
 * after an outage or a restore of the server. Resolves when `onChange` returns true or the signal aborts.
 * @throws the error of a first list, for example of an unreachable server; any other error than an outage later; the
 * error of `onChange`
 */
export async function follow(
  client: ApiClient,
  targets: readonly FollowTarget[],
  onChange: (observed: ObservedObject) => boolean | Promise<boolean>,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const onAway = (error: unknown): void =>
    note(
      `The server does not answer (${printable(causeIn(messageOf(error)))}); retrying until it does, Ctrl-C ends this`,
    );
  const one = async ({ kind, ...selection }: FollowTarget): Promise<void> => {
    const notify = async (object: ApiObject, deleted: boolean): Promise<void> => {
      if (until.aborted) return;
      const observed = { kind, object: object as unknown as JsonObject, deleted };
      if (await onChange(observed)) stop.abort();
    };
    const remote = client.resource(kind);
    const { items: known, cursor } = await remote.list(selection);
    for (const object of known) await notify(object, false);
    const changes = remote.follow({ ...selection, cursor, known, signal: until, onAway });
    for await (const { type, object } of changes) await notify(object, type === 'DELETED');
  };
  try {
    await Promise.all(targets.map(one));
  } finally {
    stop.abort();
  }
}
