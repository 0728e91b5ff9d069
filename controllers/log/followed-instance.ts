import { type Clock, linkSignals, type ObjectStore, sleep } from 'kedge';
import { type Instance, instances } from '../instance/kind.js';

/** Interval of the checks whether a followed instance still exists. */
const existenceProbeMs = 2_000;

/** Dependencies of {@link followedInstances}. */
export interface FollowedOptions {
  readonly store: ObjectStore;
  readonly clock: Clock;
  /** Ends the follow. */
  readonly signal: AbortSignal;
}

/** An item of a followed instance, or a remark in its place. */
export type Followed<T> =
  | { readonly instance: Instance; readonly item: T }
  | { readonly instance: Instance; readonly remark: string };

/**
 * The items of an instance, and of each one that replaces it under its name, for example after a restart of its service.
 * Ends once none has replaced it at the next check.
 * @param read the items of an instance until the signal aborts
 */
export async function* followedInstances<T>(
  options: FollowedOptions,
  first: Instance,
  read: (instance: Instance, signal: AbortSignal) => AsyncIterable<T>,
): AsyncIterable<Followed<T>> {
  const { signal } = options;
  for (let instance = first; !signal.aborted; ) {
    const over = new AbortController();
    using link = linkSignals(signal, over.signal);
    let isGone = false;
    const next = nextOf(options, instance, link.signal).finally(() => {
      isGone = !link.signal.aborted;
      over.abort();
    });
    try {
      for await (const item of read(instance, link.signal)) yield { instance, item };
    } finally {
      over.abort();
    }
    const replacement = await next;
    if (!isGone) return;
    const label = `instance "${instance.namespace}/${instance.name}"`;
    if (!replacement) {
      yield { instance, remark: `${label} was deleted` };
      return;
    }
    yield { instance, remark: `${label} was replaced; the output of the new one follows` };
    instance = replacement;
  }
}

/**
 * Waits until an instance no longer exists. Returns the one that has its name then; undefined if there is none at two
 * checks, or if the signal aborts.
 */
async function nextOf(
  { store, clock }: FollowedOptions,
  { metadata, namespace, name }: Instance,
  signal: AbortSignal,
): Promise<Instance | undefined> {
  for (let absences = 0; absences < 2; ) {
    await sleep(clock, existenceProbeMs, signal, { background: true });
    if (signal.aborted) return undefined;
    try {
      const found = await store.get(instances, { namespace, name });
      if (found && found.metadata.uid !== metadata.uid) return found;
      absences = found ? 0 : absences + 1;
    } catch {
      // A store that can't be read does not end the output.
    }
  }
  return undefined;
}
