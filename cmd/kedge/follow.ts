import { type AnyKind, keyString } from 'kedge';
import type { ApiClient } from 'kedge/client';
import type { JsonObject } from 'kedge/rpc';
import { methodFor } from './api.js';

/** An object as it was last told of. */
export interface Told {
  readonly kind: AnyKind;
  readonly object: JsonObject;
  readonly deleted: boolean;
}

interface WatchAnswer {
  readonly events?: readonly { readonly type: string; readonly object: JsonObject }[];
}

/**
 * Follows several kinds in one namespace each; calls `onChange` with every state, the present ones
 * first. Resolves when `onChange` says so, rejects when a stream fails.
 */
export async function follow(
  client: ApiClient,
  targets: readonly { readonly kind: AnyKind; readonly namespace: string }[],
  onChange: (told: Told) => boolean,
  signal: AbortSignal,
): Promise<void> {
  const stop = new AbortController();
  const until = AbortSignal.any([signal, stop.signal]);
  const one = async (kind: AnyKind, namespace: string): Promise<void> => {
    const request = kind.scope === 'Cluster' ? {} : { namespace };
    for await (const raw of client.stream(methodFor(kind, 'Watch'), request, until)) {
      for (const { type, object } of (raw as WatchAnswer).events ?? []) {
        if (onChange({ kind, object, deleted: type === 'DELETED' })) stop.abort();
        if (until.aborted) return;
      }
    }
  };
  try {
    await Promise.all(targets.map(({ kind, namespace }) => one(kind, namespace)));
  } finally {
    stop.abort();
  }
}

/** `Volume default/data`. */
export function labelOf(kind: AnyKind, object: JsonObject): string {
  const name = String(object.name);
  const namespace = typeof object.namespace === 'string' ? object.namespace : undefined;
  return `${kind.kind} ${keyString(namespace ? { namespace, name } : { name })}`;
}
