import { effectRecords, type EmbeddedStore, MemoryEngine, modify, openStore } from 'kedge';
import { pauseOn, type Transport, type TransportRequest } from '@kedge/driver-sdk/provider';
import { snapshots, storageClasses, type Volume, volumes } from '@kedge/controllers';
import type { WireRequest } from '../core/wire.js';
import { driverNames, EmulatedCloud } from '../sweep/emulated-cloud.js';
import type { ProviderName } from '../index.js';
import { Leader, type Step } from './leader.js';
import {
  changeMark,
  createSecond,
  deleteByHand,
  provisionBeside,
  refusedBody,
  shapes,
} from './provider-hands.js';
import { serveCloud, type Wire } from './wire.js';

/** Events between the record of a deletion and its end. */
export const troubles = {
  'is not permitted (403)': { type: 'answer', status: 403 },
  'meets nothing (404)': { type: 'gone' },
  'exceeds the rate limit (429)': { type: 'rateLimited', retryAfterSeconds: 7 },
  'fails (503)': { type: 'serverError' },
  'fails after it was executed (500)': { type: 'afterSuccess' },
  'gets no answer': { type: 'lostReply' },
  'is limited, and a second resource has its name': { type: 'second' },
  'is limited, and its resource gets another name': { type: 'renamed' },
} as const;

export type Trouble = keyof typeof troubles;

/** One deletion without a handle. */
export interface Deletion {
  readonly what: 'volume' | 'snapshot';
  readonly trouble: Trouble;
  /** The end of the first leader, at one of its steps since the creation whose answer is lost. */
  readonly takeover?: {
    readonly end: 'killed' | 'beside';
    readonly moment: 'before' | 'after';
    readonly at: number;
  };
}

/** The outcome of a deletion. */
export interface Outcome {
  /** The steps of the first leader since the creation. */
  readonly steps: readonly string[];
  readonly problems: readonly string[];
}

const key = { namespace: 'shop', name: 'v' };
const copyKey = { namespace: 'shop', name: 'copy' };
const bystander = '2e2c4f9a-7a39-4d1e-9b4b-3f1d2c5e6a72';
const secondMs = 1_000;
/** Time without answers after the creation. */
const silentMs = 5_000;
/** Time for which the provider refuses deletions. */
const refusingMs = 40_000;
/** Maximum duration of a wait, seconds. */
const waitMax = 1_800;
/** Time for which both leaders work after the end. */
const besideMs = 20 * 60_000;

function isCreation(what: Deletion['what'], { method, url, body = '' }: TransportRequest): boolean {
  const isForm = body.includes(`Action=Create${what === 'volume' ? 'Volume' : 'Snapshot'}&`);
  const path = what === 'volume' ? /\/(volumes|disks)$/ : /\/snapshots$/;
  return isForm || (method === 'POST' && path.test(url.pathname));
}

/** The id in a request that deletes a volume or a snapshot; undefined for other requests. */
function deletedBy(
  what: Deletion['what'],
  { method, url, body = '' }: TransportRequest,
): string | undefined {
  const form = new URLSearchParams(body);
  const name = what === 'volume' ? 'Volume' : 'Snapshot';
  if (form.get('Action') === `Delete${name}`) return form.get(`${name}Id`) ?? undefined;
  if (method !== 'DELETE') return undefined;
  const path = what === 'volume' ? /\/(?:volumes|disks)\/([^/]+)$/ : /\/snapshots\/([^/]+)$/;
  return path.exec(url.pathname)?.[1];
}

/** A provider over HTTP, a store, and the processes that delete one resource. */
class Scene {
  readonly steps: string[] = [];
  readonly #cloud: EmulatedCloud;
  readonly #store: EmbeddedStore;
  readonly #wire: Wire;
  readonly #deletion: Deletion;
  #first: Leader | undefined;
  #second: Leader | undefined;
  #uid = '';
  /** The creation whose answer is lost, and its time. */
  #created: { readonly at: number; readonly request: TransportRequest } | undefined;
  /** The first request to delete, and its time. */
  #asked: { readonly at: number; readonly id: string } | undefined;
  /** The record of the deletion at that time. */
  #record: unknown;
  /** Times of the requests to delete after it. */
  readonly #repeated: number[] = [];
  #isCreating = false;

  constructor(cloud: EmulatedCloud, store: EmbeddedStore, wire: Wire, deletion: Deletion) {
    this.#cloud = cloud;
    this.#store = store;
    this.#wire = wire;
    this.#deletion = deletion;
  }

  end(): void {
    this.#first?.kill();
    this.#second?.kill();
  }

  async run(): Promise<void> {
    const { what, takeover, trouble } = this.#deletion;
    const { provider } = this.#cloud;
    await this.#begin();
    const others = await this.#resources();
    await this.#create();
    await this.#until('no deletion', async () => this.#asked !== undefined || this.#isOver());
    if (!takeover) await this.#requireReport();
    const isAmbiguous = troubles[trouble].type === 'second' && provider === 'cloud3';
    if (isAmbiguous && this.#asked) await this.#removeSecond(others);
    await this.#until('not over', () => this.#isOver());
    await this.#pause(takeover ? besideMs : secondMs);
    if (!(await this.#isOver())) throw new Error('it is no longer over');
    await this.#requireLeft(others);
    if (what === 'snapshot') return;
    await this.#store.deleteByName(volumes, key);
    await this.#until('not deleted', async () => !(await this.#volume()));
  }

  /** Creates the volume of another object, which must stay, and for a snapshot its volume. */
  async #begin(): Promise<void> {
    const { provider, parameters } = this.#cloud;
    const driver = await this.#cloud.driver(this.#wire.transport);
    await provisionBeside(this.#cloud, driver, { ...key, uid: bystander });
    await this.#store.create(storageClasses, {
      ...{ name: 'c', driver: driverNames[provider], reclaimPolicy: 'delete' },
      parameters: { ...parameters, ...shapes[provider] },
    });
    const parts = { store: this.#store, transport: this.#transport };
    this.#first = await Leader.start(this.#cloud, parts, (step, act) => this.#around(step, act));
    if (this.#deletion.what === 'volume') return;
    await this.#createVolume();
    await this.#until('not Available', async () => (await this.#volume())?.status === 'Available');
    await this.#pause(60_000);
  }

  async #createVolume(): Promise<string> {
    const { metadata } = await this.#store.create(volumes, {
      ...{ ...key, storageClassName: 'c', size: '10Gi', accessMode: 'ReadWriteOnce' },
      metadata: { finalizers: ['svc.io/volume'] },
    });
    return metadata.uid;
  }

  async #create(): Promise<void> {
    const { faults } = this.#cloud.emulator;
    const isSilent = (): boolean =>
      this.#created !== undefined && this.#cloud.clock.now() - this.#created.at < silentMs;
    faults.add({ on: isSilent, nth: 1, fault: { type: 'afterSuccess' } });
    faults.add({ on: isSilent, times: 1_000, fault: { type: 'before' } });
    this.#isCreating = true;
    if (this.#deletion.what === 'volume') {
      this.#uid = await this.#createVolume();
      return;
    }
    const { metadata } = await this.#store.create(snapshots, {
      ...{ ...copyKey, source: { volume: key.name } },
      metadata: { finalizers: ['svc.io/snapshot'] },
    });
    this.#uid = metadata.uid;
  }

  /** The class gets other parameters, or the snapshot is deleted. */
  async #turn(): Promise<void> {
    const { parameters } = this.#cloud;
    if (this.#deletion.what === 'snapshot')
      return void (await this.#store.deleteByName(snapshots, copyKey));
    await modify(this.#store, storageClasses, { name: 'c' }, (found) => ({
      ...found,
      parameters,
    }));
  }

  readonly #transport: Transport = async (request) => {
    const { what } = this.#deletion;
    const at = this.#cloud.clock.now();
    if (this.#isCreating && !this.#created && isCreation(what, request)) {
      this.#created = { at, request };
      const answer = await this.#wire.transport(request);
      await this.#turn();
      return answer;
    }
    const id = this.#created && deletedBy(what, request);
    if (id === undefined) return this.#wire.transport(request);
    if (this.#asked) {
      this.#repeated.push(at);
      return this.#wire.transport(request);
    }
    this.#asked = { at, id };
    const record = await this.#store.get(effectRecords, { name: this.#uid });
    this.#record = record?.effects[`driver delete${what === 'volume' ? '' : 'Snapshot'}`];
    await this.#meet(request, id);
    const answer = await this.#wire.transport(request);
    const isGone = troubles[this.#deletion.trouble].type === 'gone';
    // Google Cloud repeats its answer to the key of a request.
    if (!isGone || this.#cloud.provider !== 'cloud4') return answer;
    return { ...answer, status: 404, text: refusedBody('cloud4', 404) };
  };

  /** Lets the trouble begin at the first deletion. */
  async #meet(request: TransportRequest, id: string): Promise<void> {
    const { emulator, clock } = this.#cloud;
    const at = clock.now();
    const trouble = troubles[this.#deletion.trouble];
    const on = ({ method, body }: WireRequest): boolean =>
      clock.now() - at < refusingMs &&
      (method === 'DELETE' || /Action=Delete(Volume|Snapshot)&/.test(body));
    const limited = { on, times: 1_000, fault: troubles['exceeds the rate limit (429)'] };
    switch (trouble.type) {
      case 'gone':
        await this.#wire.transport(request);
        return emulator.finishActions();
      case 'answer': {
        const body = refusedBody(this.#cloud.provider, trouble.status);
        return emulator.faults.add({ on, times: 1_000, fault: { ...trouble, body } });
      }
      case 'afterSuccess':
      case 'lostReply':
        return emulator.faults.add({ on, fault: trouble });
      case 'second': {
        const driver = await this.#cloud.driver(this.#wire.transport);
        const identity = { ...key, uid: this.#uid };
        await createSecond(this.#cloud, driver, identity, this.#created?.request);
        return emulator.faults.add(limited);
      }
      case 'renamed':
        await changeMark(this.#cloud, id);
        return emulator.faults.add(limited);
      case 'rateLimited':
      case 'serverError':
        return emulator.faults.add({ on, times: 1_000, fault: trouble });
    }
  }

  /** Checks the record of the deletion, the report of the object, and that Retry-After is obeyed. */
  async #requireReport(): Promise<void> {
    const { what, trouble } = this.#deletion;
    const { type } = troubles[trouble];
    const isRecorded = what === 'volume' || this.#cloud.provider === 'cloud4';
    if (isRecorded && this.#record === undefined) throw new Error('no record of the deletion');
    if (type !== 'answer' && type !== 'rateLimited' && type !== 'serverError') return;
    await this.#pause(refusingMs / 2);
    const found =
      what === 'volume' ? await this.#volume() : await this.#store.get(snapshots, copyKey);
    const { reason, conditions, lastOperation } = found ?? {};
    const shown = JSON.stringify({ reason, conditions, lastOperation });
    const wanted = what === 'volume' ? 'once nothing of the earlier attempt is at the' : 'delete';
    const kinds = { answer: /PermissionDenied|CredentialsRejected/, rateLimited: /Throttled/ };
    const kind = type === 'serverError' ? /Unavailable|Timeout/ : kinds[type];
    if (!shown.includes(wanted) || !kind.test(shown)) throw new Error(`the object has ${shown}`);
    const [next = 0] = this.#repeated;
    const leastMs = troubles['exceeds the rate limit (429)'].retryAfterSeconds * secondMs;
    if (type === 'rateLimited' && next - (this.#asked?.at ?? 0) < leastMs)
      throw new Error(`repeated after ${next - (this.#asked?.at ?? 0)} ms`);
  }

  /** Two volumes have the tag of the uid: a person deletes the other one, as the message asks for. */
  async #removeSecond(others: readonly string[]): Promise<void> {
    const own = this.#asked?.id ?? '';
    await this.#until('no message about two volumes', async () =>
      JSON.stringify(await this.#volume()).includes('delete those that are not needed'),
    );
    await this.#pause(refusingMs);
    const all = (await this.#resources()).filter((line) => !others.includes(line));
    const second = all.map((line) => line.split(' ')[1] ?? '').find((id) => id !== own) ?? '';
    await deleteByHand(this.#cloud, second);
  }

  /**
   * Checks that earlier resources exist, and of the object only the new volume and one that got another name or place.
   */
  async #requireLeft(others: readonly string[]): Promise<void> {
    const { what, trouble } = this.#deletion;
    const all = await this.#resources();
    const missing = others.filter((line) => !all.includes(line));
    if (missing.length > 0) throw new Error(`deleted: ${missing.join(', ')}`);
    const { type } = troubles[trouble];
    const isKept =
      this.#asked !== undefined &&
      (type === 'renamed' || (type === 'second' && this.#cloud.provider !== 'cloud3'));
    const own = all.filter((line) => !others.includes(line));
    const wanted = (what === 'volume' ? 1 : 0) + (isKept ? 1 : 0);
    if (own.length !== wanted) throw new Error(`at the provider: ${own.join(', ') || 'nothing'}`);
    if (type === 'renamed' && isKept && !own.some((line) => line.includes(` ${this.#asked?.id}`)))
      throw new Error(`the renamed volume was deleted: ${own.join(', ')}`);
  }

  async #around<T>({ what }: Step, act: () => Promise<T>): Promise<T> {
    const { takeover } = this.#deletion;
    if (!this.#created || this.#second) return act();
    this.steps.push(what);
    if (!takeover || this.steps.length !== takeover.at) return act();
    const { end, moment } = takeover;
    const done = moment === 'after' ? act() : undefined;
    await done?.catch(() => undefined);
    this.#first?.depose();
    if (end === 'killed') this.#first?.kill();
    const parts = { store: this.#store, transport: this.#transport };
    this.#second = await Leader.start(this.#cloud, parts);
    if (end === 'killed') return new Promise(() => undefined);
    return done ?? act();
  }

  async #isOver(): Promise<boolean> {
    if (this.#deletion.what === 'snapshot') return !(await this.#store.get(snapshots, copyKey));
    const { status, driverParameters } = (await this.#volume()) ?? {};
    const [[name = '', before] = []] = Object.entries(shapes[this.#cloud.provider]);
    return status === 'Available' && driverParameters?.[name] !== before;
  }

  #volume(): Promise<Volume | undefined> {
    return this.#store.get(volumes, key);
  }

  async #resources(): Promise<readonly string[]> {
    const all = await this.#cloud.emulator.inventory();
    return all.filter((line) => /^(volume|snapshot) /.test(line));
  }

  async #pause(ms: number): Promise<void> {
    await pauseOn(this.#cloud.clock, ms, new AbortController().signal);
  }

  async #until(what: string, holds: () => Promise<boolean>): Promise<void> {
    for (let wait = 0; wait < waitMax; wait += 1) {
      if (await holds()) return;
      await this.#pause(secondMs);
    }
    const { status, conditions, lastOperation } =
      (await this.#store.get(snapshots, copyKey)) ?? (await this.#volume()) ?? {};
    throw new Error(`${what}: ${JSON.stringify({ status, conditions, lastOperation })}`);
  }
}

/**
 * Deletes a resource while the provider fails and, with `takeover`, another leader takes over. An error of the run is
 * one of the problems.
 */
export async function runDeletion(
  provider: ProviderName,
  folder: string,
  deletion: Deletion,
): Promise<Outcome> {
  const cloud = new EmulatedCloud(provider, folder);
  const store = await openStore({ engine: new MemoryEngine(), clock: cloud.clock });
  const wire = await serveCloud(cloud);
  const scene = new Scene(cloud, store, wire, deletion);
  const problems: string[] = [];
  await cloud.clock
    .during(() => scene.run())
    .catch((error: unknown) => problems.push(String(error)));
  scene.end();
  problems.push(...cloud.emulator.violations);
  await wire.close();
  await cloud.emulator.close();
  await store.close();
  return { steps: scene.steps, problems };
}
