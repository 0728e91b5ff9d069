import pc from 'picocolors';
import { type AnyKind, StatusError } from 'kedge';
import type { ApiClient } from 'kedge/client';
import { type JsonObject, textOf } from 'kedge/rpc';
import { kindNamed } from './api.js';
import { follow, labelOf, type Told } from './follow.js';
import { coloured, print } from './output.js';

/** What became of one object of a cast. */
export interface CastResult {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly action: 'created' | 'updated' | 'unchanged';
  readonly changes: readonly string[];
}

interface ConditionJson {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** How far a cast object is. */
type Progress =
  | { readonly state: 'settled' }
  | { readonly state: 'going'; readonly detail: string }
  /** It will not go on until somebody does something. */
  | { readonly state: 'stuck'; readonly detail: string };

function conditions(object: JsonObject): readonly ConditionJson[] {
  return (object.conditions ?? []) as readonly ConditionJson[];
}

/** How far a volume or a snapshot is. */
function storageProgress(object: JsonObject): Progress {
  const status = String(object.status);
  if (['Available', 'Bound', 'Ready'].includes(status)) return { state: 'settled' };
  if (status === 'Failed') return { state: 'stuck', detail: textOf(object, 'failureMessage') };
  // What was told last: the driver's error, else what it waits for.
  const last = object.lastOperation as JsonObject | undefined;
  const waiting = conditions(object).find((c) => c.status === 'False')?.message ?? '';
  return { state: 'going', detail: (last && textOf(last, 'message')) || waiting };
}

/** What an instance waits for, and whether it waits for somebody. */
function instanceProgress(instance: JsonObject): Progress {
  const ready = conditions(instance).find((c) => c.type === 'Ready');
  if (ready?.status === 'True') return { state: 'settled' };
  const detail = ready?.message ?? '';
  const stuck =
    ready?.reason === 'RuntimeUnavailable' ||
    ready?.reason === 'InvalidParameters' ||
    instance.status === 'Failed';
  return { state: stuck ? 'stuck' : 'going', detail };
}

/** Waits for the objects of one cast and prints every change of status on the way. */
class CastWatch {
  readonly #wanted: ReadonlyMap<string, CastResult>;
  readonly #objects = new Map<string, Told>();
  readonly #shown = new Map<string, string>();

  constructor(results: readonly CastResult[]) {
    const awaited = results.filter((r) => ['Service', 'Volume', 'Snapshot'].includes(r.kind));
    this.#wanted = new Map(awaited.map((r) => [`${r.kind} ${r.namespace}/${r.name}`, r]));
  }

  get targets(): readonly { readonly kind: AnyKind; readonly namespace: string }[] {
    const namespaces = new Set([...this.#wanted.values()].map((r) => r.namespace));
    const kinds = ['volumes', 'snapshots', 'services', 'instances'].map(kindNamed);
    return [...namespaces].flatMap((namespace) => kinds.map((kind) => ({ kind, namespace })));
  }

  get empty(): boolean {
    return this.#wanted.size === 0;
  }

  /** Takes a state; true when nothing is left to wait for. */
  take(told: Told): boolean {
    const label = labelOf(told.kind, told.object);
    if (told.deleted) this.#objects.delete(label);
    else this.#objects.set(label, told);
    if (this.#concerns(told)) this.#show(label, told);
    return this.#verdict() !== undefined;
  }

  #concerns({ kind, object }: Told): boolean {
    const own = `${String(object.namespace)}/${String(object.name)}`;
    if (kind.kind === 'Instance')
      return this.#wanted.has(`Service ${String(object.namespace)}/${String(object.service)}`);
    if (kind.kind === 'Volume' && this.#wanted.has(`Service ${String(object.ownerService)}`))
      return true;
    return this.#wanted.has(`${kind.kind} ${own}`);
  }

  #show(label: string, { kind, object, deleted }: Told): void {
    const status = deleted ? 'Deleted' : String(object.status);
    const progress = kind.kind === 'Instance' ? instanceProgress(object) : storageProgress(object);
    const detail = kind.kind !== 'Service' && progress.state !== 'settled' ? progress.detail : '';
    const text = `${coloured(status)}${detail === '' ? '' : pc.dim(` ${detail}`)}`;
    if (this.#shown.get(label) === text) return;
    this.#shown.set(label, text);
    print(`  ${label} ${text}`);
  }

  #progressOf(label: string, result: CastResult): Progress {
    const told = this.#objects.get(label);
    if (!told) return { state: 'going', detail: 'not seen yet' };
    if (result.kind !== 'Service') return storageProgress(told.object);
    return this.#serviceProgress(told.object, result);
  }

  #serviceProgress(service: JsonObject, result: CastResult): Progress {
    const metadata = service.metadata as JsonObject | undefined;
    const current = service.observedGeneration === metadata?.generation;
    if (current && service.status === 'Running') return { state: 'settled' };
    const parts = [...this.#objects.values()].filter(({ kind, object }) =>
      kind.kind === 'Instance'
        ? object.service === result.name && object.namespace === result.namespace
        : kind.kind === 'Volume' && object.ownerService === `${result.namespace}/${result.name}`,
    );
    const progress = parts.map(({ kind, object }) => ({
      kind,
      object,
      progress: kind.kind === 'Instance' ? instanceProgress(object) : storageProgress(object),
    }));
    const scale = typeof service.scale === 'number' ? service.scale : 1;
    const instances = progress.filter((p) => p.kind.kind === 'Instance');
    // Only when every part has come to rest is a stuck one the end of it.
    const going = progress.some((p) => p.progress.state === 'going');
    const stuck = progress.find((p) => p.progress.state === 'stuck');
    if (!current || going || instances.length < scale || !stuck)
      return { state: 'going', detail: 'not ready yet' };
    const detail = stuck.progress.state === 'stuck' ? stuck.progress.detail : '';
    return { state: 'stuck', detail: `${labelOf(stuck.kind, stuck.object)}: ${detail}` };
  }

  /** Undefined while something goes on; else what is stuck, none meaning success. */
  #verdict(): readonly string[] | undefined {
    const stuck: string[] = [];
    for (const [label, result] of this.#wanted) {
      const progress = this.#progressOf(label, result);
      if (progress.state === 'going') return undefined;
      if (progress.state === 'stuck') stuck.push(`${label}: ${progress.detail}`);
    }
    return stuck;
  }

  /** @throws StatusError when something is stuck or time ran out. */
  conclude(timedOut: boolean): void {
    const verdict = this.#verdict();
    if (verdict?.length === 0) {
      print(pc.green('Everything runs.'));
      return;
    }
    if (verdict)
      throw new StatusError({
        code: 'Unavailable',
        reason: 'Stuck',
        message: `stored, but it does not run:\n  ${verdict.join('\n  ')}`,
      });
    if (!timedOut) return;
    const going = [...this.#wanted].flatMap(([label, result]) => {
      const progress = this.#progressOf(label, result);
      return progress.state === 'settled' ? [] : [`${label}: ${progress.detail}`];
    });
    throw new StatusError({
      code: 'DeadlineExceeded',
      reason: 'WaitTimeout',
      message: `stored, but not running in time (it goes on trying):\n  ${going.join('\n  ')}`,
    });
  }
}

/** Waits until every service and volume of a cast runs. @throws StatusError with the reasons when not. */
export async function waitForCast(
  client: ApiClient,
  results: readonly CastResult[],
  timeoutMs: number,
): Promise<void> {
  const watch = new CastWatch(results);
  if (watch.empty) return;
  print('Progress:');
  const limit = AbortSignal.timeout(timeoutMs);
  await follow(client, watch.targets, (told) => watch.take(told), limit);
  watch.conclude(limit.aborted);
}
