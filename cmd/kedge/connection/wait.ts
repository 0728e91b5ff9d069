import pc from 'picocolors';
import { type AnyKind, findCondition, isDeleting, messageOf, StatusError } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { type JsonObject, textOf } from 'kedge/rpc';
import {
  causeOf,
  emptyWorld,
  isUsableStatus,
  problemOfStorage,
  type World,
} from '@kedge/controllers/cause';
import type { Instance, Service } from '@kedge/api/kinds';
import { kindNamed } from './api.js';
import { remediesOf, type Stuck } from './cast-remedies.js';
import { labelOf } from '../output/subjects.js';
import { follow, type ObservedObject } from './follow.js';
import { printable, printableLine } from '../../terminal-text.js';
import { coloured, note, print } from '../output/output.js';

/** The result of one object of a cast. */
export interface CastResult {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  readonly action: 'created' | 'updated' | 'unchanged';
  readonly changes: readonly string[];
}

type Progress =
  /** `completed`: its processes ended with exit code 0 and are not started again. */
  | { readonly state: 'settled'; readonly completed?: true }
  | { readonly state: 'going'; readonly detail: string }
  /** The object is blocked until an operator acts. */
  | { readonly state: 'stuck'; readonly detail: string };

function storageProgress(object: JsonObject): Progress {
  const status = String(object.status);
  if (isUsableStatus(status)) return { state: 'settled' };
  const problem = problemOfStorage(object as unknown as Parameters<typeof problemOfStorage>[0]);
  const detail = problem?.message ?? '';
  return { state: status === 'Failed' ? 'stuck' : 'going', detail };
}

/** An instance with this many consecutive short runs counts as crash-looping. */
const crashesMax = 2;

/** Whether the workload of an instance ended with exit code 0, and its restart policy does not start it again. */
function hasCompleted(instance: Instance): boolean {
  const { restartPolicy } = instance.template;
  const staysEnded = restartPolicy === 'Never' || restartPolicy === 'OnFailure';
  const ended = instance.status === 'Exited' && (instance.exitCode ?? 0) === 0;
  return staysEnded && ended && !isDeleting(instance);
}

/** The progress of an instance; it is `stuck` if an operator must act. */
function instanceProgress(object: JsonObject): Progress {
  const instance = object as unknown as Instance;
  const ready = findCondition(instance.conditions, 'Ready');
  if (ready?.status === 'True') return { state: 'settled' };
  if (hasCompleted(instance)) return { state: 'settled', completed: true };
  const cause = causeOf({ kind: 'Instance', object: instance }, emptyWorld);
  const detail = cause?.message ?? '';
  if (isDeleting(instance)) return { state: 'going', detail };
  const stuck =
    ready?.reason === 'RuntimeUnavailable' ||
    ready?.reason === 'InvalidParameters' ||
    instance.status === 'Failed' ||
    instance.status === 'Exited' ||
    (instance.backoff?.crashes ?? 0) >= crashesMax;
  return { state: stuck ? 'stuck' : 'going', detail };
}

function isCompleted(progress: Progress): boolean {
  return progress.state === 'settled' && progress.completed === true;
}

/** Waits for the objects of one cast and prints every status change meanwhile. */
class CastWatch {
  readonly #wanted: ReadonlyMap<string, CastResult>;
  readonly #objects = new Map<string, ObservedObject>();
  readonly #shown = new Map<string, string>();

  constructor(results: readonly CastResult[]) {
    const awaited = results.filter((r) => ['Service', 'Volume', 'Snapshot'].includes(r.kind));
    this.#wanted = new Map(awaited.map((r) => [`${r.kind} ${r.namespace}/${r.name}`, r]));
  }

  get targets(): readonly { readonly kind: AnyKind; readonly namespace: string }[] {
    const namespaces = new Set([...this.#wanted.values()].map((r) => r.namespace));
    const kinds = ['volumes', 'snapshots', 'services', 'instances'].map((word) => kindNamed(word));
    return [...namespaces].flatMap((namespace) => kinds.map((kind) => ({ kind, namespace })));
  }

  get empty(): boolean {
    return this.#wanted.size === 0;
  }

  /** Processes a state; true when the wait is over. */
  take(observed: ObservedObject): boolean {
    const label = labelOf(observed.kind, observed.object);
    if (observed.deleted) this.#objects.delete(label);
    else this.#objects.set(label, observed);
    if (this.#concerns(observed)) this.#show(label, observed);
    return this.#verdict() !== undefined;
  }

  /** Stores all objects of a kind, and removes those that were deleted. */
  replace(kind: AnyKind, namespace: string, objects: readonly JsonObject[]): void {
    for (const [label, observed] of this.#objects)
      if (observed.kind === kind && observed.object.namespace === namespace)
        this.#objects.delete(label);
    for (const object of objects)
      this.#objects.set(labelOf(kind, object), { kind, object, deleted: false });
  }

  #concerns({ kind, object }: ObservedObject): boolean {
    const own = `${String(object.namespace)}/${String(object.name)}`;
    if (kind.kind === 'Instance')
      return this.#wanted.has(`Service ${String(object.namespace)}/${String(object.service)}`);
    if (kind.kind === 'Volume' && this.#wanted.has(`Service ${String(object.ownerService)}`))
      return true;
    return this.#wanted.has(`${kind.kind} ${own}`);
  }

  #show(label: string, { kind, object, deleted }: ObservedObject): void {
    const status = deleted ? 'Deleted' : String(object.status);
    const progress = kind.kind === 'Instance' ? instanceProgress(object) : storageProgress(object);
    const detail = kind.kind !== 'Service' && progress.state !== 'settled' ? progress.detail : '';
    const text = `${coloured(status)}${detail === '' ? '' : pc.dim(` ${printableLine(detail)}`)}`;
    if (this.#shown.get(label) === text) return;
    this.#shown.set(label, text);
    print(`  ${label} ${text}`);
  }

  #progressOf(label: string, result: CastResult): Progress {
    const observed = this.#objects.get(label);
    if (!observed) return { state: 'going', detail: 'not seen yet' };
    if (result.kind !== 'Service') return storageProgress(observed.object);
    return this.#serviceProgress(observed.object, result);
  }

  #serviceProgress(service: JsonObject, result: CastResult): Progress {
    const metadata = service.metadata as JsonObject | undefined;
    const current = service.observedGeneration === metadata?.generation;
    if (current && service.status === 'Running') return { state: 'settled' };
    const instances = this.#instancesOf(result);
    const parts = [
      ...instances.map((object) => instanceProgress(object)),
      ...this.#volumesOf(result).map((object) => storageProgress(object)),
    ];
    const scale = typeof service.scale === 'number' ? service.scale : 1;
    const isOver = parts.every(({ state }) => state === 'settled') && instances.length >= scale;
    if (current && isOver && parts.some(isCompleted)) return { state: 'settled', completed: true };
    // A stuck object ends the wait only when all others have settled.
    const going = parts.some(({ state }) => state === 'going');
    const stuck = parts.some(({ state }) => state === 'stuck');
    const ended = current && !going && instances.length >= scale && stuck;
    const subject = { kind: 'Service', object: service as unknown as Service } as const;
    const cause = causeOf(subject, this.#world);
    const detail = cause
      ? `${cause.object}: ${cause.message}`
      : 'its controller has not reported a status yet';
    return { state: ended ? 'stuck' : 'going', detail };
  }

  get #world(): World {
    const of = (kind: string): readonly never[] =>
      [...this.#objects.values()]
        .filter((observed) => observed.kind.kind === kind)
        .map(({ object }) => object) as readonly unknown[] as never[];
    const [volumes, instances, snapshots] = [of('Volume'), of('Instance'), of('Snapshot')];
    return { ...emptyWorld, volumes, instances, snapshots };
  }

  #instancesOf({ namespace, name }: CastResult): readonly JsonObject[] {
    return [...this.#objects.values()]
      .filter(({ kind }) => kind.kind === 'Instance')
      .map(({ object }) => object)
      .filter((object) => object.service === name && object.namespace === namespace);
  }

  #volumesOf({ namespace, name }: CastResult): readonly JsonObject[] {
    return [...this.#objects.values()]
      .filter(({ kind }) => kind.kind === 'Volume')
      .map(({ object }) => object)
      .filter((object) => object.ownerService === `${namespace}/${name}`);
  }

  /** Instances whose output may explain the stuck objects. */
  get ended(): readonly { readonly namespace: string; readonly name: string }[] {
    return [...this.#wanted.values()]
      .filter(({ kind }) => kind === 'Service')
      .flatMap((result) => this.#instancesOf(result))
      .filter((object) => typeof object.exitCode === 'number' && object.exitCode !== 0)
      .filter((object) => instanceProgress(object).state === 'stuck')
      .map((object) => ({ namespace: String(object.namespace), name: String(object.name) }));
  }

  /** Whether nothing is in progress and something is stuck. */
  get stuck(): boolean {
    return (this.#verdict() ?? []).length > 0;
  }

  /** Undefined while something is in progress; else the stuck objects, none on success. */
  #verdict(): readonly Stuck[] | undefined {
    const stuck: Stuck[] = [];
    for (const [label, result] of this.#wanted) {
      const progress = this.#progressOf(label, result);
      if (progress.state === 'going') return undefined;
      if (progress.state === 'stuck') stuck.push(this.#stuckOf(label, progress.detail));
    }
    return stuck;
  }

  #stuckOf(label: string, detail: string): Stuck {
    return { label, detail, observed: this.#objects.get(label) };
  }

  /** Prints the success of the wait. @throws StatusError Unavailable (Stuck), DeadlineExceeded (WaitTimeout) */
  async conclude(client: ApiClient, timedOut: boolean): Promise<void> {
    const verdict = this.#verdict();
    if (verdict?.length === 0) {
      const completed = [...this.#wanted].filter(([label, result]) =>
        isCompleted(this.#progressOf(label, result)),
      );
      for (const [label] of completed) print(pc.green(`${label} completed (exit code 0).`));
      if (completed.length < this.#wanted.size) print(pc.green('All objects are ready.'));
      return;
    }
    if (verdict)
      throw new StatusError({
        code: 'Unavailable',
        reason: 'Stuck',
        message: `stored, but it is not running:${await remediesOf(client, verdict)}`,
      });
    if (!timedOut) return;
    const going = [...this.#wanted].flatMap(([label, result]) => {
      const progress = this.#progressOf(label, result);
      return progress.state === 'settled' ? [] : [this.#stuckOf(label, progress.detail)];
    });
    throw new StatusError({
      code: 'DeadlineExceeded',
      reason: 'WaitTimeout',
      message: `stored, but not running in time (kedged continues):${await remediesOf(client, going)}`,
    });
  }
}

/** Number of output lines that are shown of each ended instance. */
const linesMax = 5;
/** Number of ended instances whose output is shown. */
const shownMax = 3;

/** Prints the last output of ended instances, which usually explains the end. */
async function showOutput(client: ApiClient, watch: CastWatch, signal: AbortSignal): Promise<void> {
  for (const { namespace, name } of watch.ended.slice(0, shownMax)) {
    const lines: string[] = [];
    try {
      const request = { namespace, name, tail: linesMax };
      for await (const line of client.stream('LogService.Get', request, signal))
        lines.push(textOf(line, 'content'));
    } catch (error) {
      // The reason is shown anyway, for example without the right to read logs.
      note(`The output of ${name} can't be read: ${printable(messageOf(error))}`);
    }
    if (lines.length === 0) continue;
    note(`Last output of ${name} (kedge logs ${name} -n ${namespace}):`);
    for (const line of lines) note(`  ${printable(line)}`);
  }
}

/** Whether objects are still stuck after a list. Watches of two kinds are not synchronized: a state may be stale. */
async function stillStuck(client: ApiClient, watch: CastWatch): Promise<boolean> {
  for (const { kind, namespace } of watch.targets) {
    const { items } = await client.resource(kind).list({ namespace });
    watch.replace(kind, namespace, items as unknown as readonly JsonObject[]);
  }
  return watch.stuck;
}

/**
 * Waits until every service, volume and snapshot of a cast is ready, or a service has completed. Prints the progress.
 * @throws StatusError with the reasons: Unavailable (Stuck), DeadlineExceeded (WaitTimeout)
 */
export async function waitForCast(
  client: ApiClient,
  results: readonly CastResult[],
  timeoutMs: number,
): Promise<void> {
  const watch = new CastWatch(results);
  if (watch.empty) return;
  print('Progress:');
  const limit = AbortSignal.timeout(timeoutMs);
  do await follow(client, watch.targets, (observed) => watch.take(observed), limit);
  while (!limit.aborted && watch.stuck && !(await stillStuck(client, watch)));
  if (watch.stuck) await showOutput(client, watch, AbortSignal.timeout(timeoutMs));
  await watch.conclude(client, limit.aborted);
}
