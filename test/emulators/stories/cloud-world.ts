import { expect } from 'chai';
import type { Transport } from '@kedge/driver-sdk/provider';
import { MemoryEngine, seededRandom } from 'kedge';
import { FakeClock, RecordingLogger } from 'kedge/testing';
import { type Answer, nodeNames, World } from '../../never-stuck/world.js';
import type { Emulator } from '../core/emulator.js';
import type { Machine, Token } from '../core/machine.js';
import type { LoggedRequest } from '../core/requests.js';
import { createEmulator, type ProviderName } from '../index.js';
import { driverNames, places, transportTo } from '../sweep/emulated-cloud.js';
import { type Credentials, credentialsOf } from './credentials.js';
import { disclosing, keptTexts, loggedTexts } from './disclosed-secrets.js';
import { ProcessDrivers } from './process-drivers.js';
import { SeenDisks } from './seen-disks.js';

type Json = Readonly<Record<string, unknown>>;

/** Tokens of the provider by their name in its log. */
export const tokens = {
  first: 'dop_v1_secret-of-the-first',
  second: 'dop_v1_secret-of-the-second',
  third: 'dop_v1_secret-of-the-third',
} as const;

/** Texts that nothing may disclose. */
const secrets = [...Object.values(tokens), 'PRIVATE KEY'];

const stepMs = 5_000;
const steps = 600;

/** Parts of a world that a story chooses. */
export interface CloudWorldOptions {
  /** `apiTokenSecretRef` of the nodes' configuration. */
  readonly nodeToken?: string;
  readonly actionMs?: number;
  readonly volumesMax?: number;
  /** The places of the nodes; default: that of the classes. */
  readonly placeOf?: (node: (typeof nodeNames)[number]) => string;
  /** Default: cluster-1. */
  readonly clusterId?: string;
  /** Size of the provider's pages. */
  readonly perPage?: number;
  /** Changes the transport of all drivers, such as to let requests of one of them hang. */
  readonly transport?: (inner: Transport) => Transport;
  /** A world with the same provider and clock; default: a provider of its own. */
  readonly beside?: CloudWorld;
}

/** The complete system with a cloud driver and its provider, in one process on one clock. */
export class CloudWorld {
  readonly world: World;
  readonly emulator: Emulator;
  readonly provider: ProviderName;
  readonly machine: Machine;
  readonly #credentials: Credentials<keyof typeof tokens>;
  readonly #disks: SeenDisks;
  readonly #drivers: ProcessDrivers;
  readonly #logger: RecordingLogger;
  readonly #engine: MemoryEngine;
  /** The answers of the API that contain a secret. Those of thousands of volumes do not fit into memory. */
  readonly #disclosing: string[] = [];

  private constructor(
    provider: ProviderName,
    parts: Pick<CloudWorld, 'world' | 'emulator'> & {
      readonly machine: Machine;
      readonly disks: SeenDisks;
      readonly drivers: ProcessDrivers;
      readonly credentials: Credentials<keyof typeof tokens>;
    },
    kept: { readonly logger: RecordingLogger; readonly engine: MemoryEngine },
  ) {
    this.provider = provider;
    this.machine = parts.machine;
    this.world = parts.world;
    this.emulator = parts.emulator;
    this.#disks = parts.disks;
    this.#credentials = parts.credentials;
    this.#drivers = parts.drivers;
    this.#logger = kept.logger;
    this.#engine = kept.engine;
  }

  static async start(provider: ProviderName, options: CloudWorldOptions = {}): Promise<CloudWorld> {
    const { nodeToken, clusterId = 'cluster-1', beside } = options;
    const clock = beside?.world.clock ?? new FakeClock();
    const disks = beside ? beside.#disks : new SeenDisks();
    const credentials = beside ? beside.#credentials : credentialsOf(provider, tokens);
    const { emulator, machine } =
      beside ?? emulatorOf(provider, options, { clock, disks, tokens: credentials.tokens });
    const { transport = (inner) => inner } = options;
    const drivers = new ProcessDrivers({
      ...{ driverName: driverNames[provider], clusterId, clock, disks, nodeToken },
      transport: transport(transportTo(emulator)),
    });
    const { registry } = drivers;
    const labels = (node: (typeof nodeNames)[number]): Readonly<Record<string, string>> =>
      credentials.labels((options.placeOf ?? (() => places[provider]))(node));
    const logger = new RecordingLogger();
    const engine = new MemoryEngine();
    const world = await World.start({
      ...{ clock, registry, labels, logger, engine, usedInFiles: true },
    });
    const cloud = new CloudWorld(
      provider,
      { world, emulator, machine, disks, credentials, drivers },
      { logger, engine },
    );
    await cloud.ok('POST', '/namespaces', { name: 'shop' });
    return cloud;
  }

  async rest(method: string, path: string, body?: Json): Promise<Answer> {
    const answer = await this.world.rest(method, path, body);
    this.#disclosing.push(...disclosing(secrets, [JSON.stringify(answer.body)]));
    return answer;
  }

  async ok(method: string, path: string, body?: Json): Promise<Json> {
    const { status, body: answer } = await this.rest(method, path, body);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(answer)}`);
    return answer;
  }

  /** Creates a secret in `shop`, or replaces its token. */
  async secret(name: string, token: string): Promise<void> {
    const path = '/namespaces/shop/secrets';
    const { status } = await this.rest('GET', `${path}/${name}`);
    const data = this.#credentials.data(token);
    if (status === 404) await this.ok('POST', path, { name, data });
    else await this.ok('PUT', `${path}/${name}`, { name, data });
  }

  /** The value of a secret with one of the credentials. */
  credential(name: keyof typeof tokens): string {
    return this.#credentials.values[name];
  }

  /** The parameters of a class with a credential itself. */
  literalsOf(name: keyof typeof tokens): Readonly<Record<string, string>> {
    return this.#credentials.literals(name);
  }

  /** The tokens of the provider, with all rights that its driver needs. */
  get tokens(): readonly Token[] {
    return this.#credentials.tokens;
  }

  /** The name of a credential in the provider's log. */
  logged(name: keyof typeof tokens): string {
    return this.#credentials.logged[name];
  }

  /** The parameters of a class with the credential in a secret. */
  parametersOf(reference: string): Readonly<Record<string, string>> {
    return this.#credentials.parameters(reference);
  }

  /** The parameters of a class whose credential is in the secret `cloud`. */
  reference(): Json {
    return this.parametersOf('secret:cloud.shop.svc/token');
  }

  /** Creates a class, or replaces its parameters; by default its credential is that of the secret `cloud`. */
  async storageClass(parameters: Json = this.reference(), name = 'c'): Promise<void> {
    const { status, body } = await this.rest('GET', `/storageclasses/${name}`);
    const form = {
      ...{ name, driver: driverNames[this.provider], reclaimPolicy: 'delete' },
      parameters: { ...this.#credentials.place, ...parameters },
    };
    if (status === 404) await this.ok('POST', '/storageclasses', form);
    else await this.ok('PUT', `/storageclasses/${name}`, { ...body, ...form });
  }

  /** Number of requests of the control plane for a volume until a time, of its last twenty. */
  requestsFor(uid: unknown, until: number): number {
    const calls = this.#drivers.get('control')?.recentCalls?.(String(uid)) ?? [];
    return calls.filter(({ at }) => at <= until).length;
  }

  async volume(name = 'v', storageClassName = 'c'): Promise<void> {
    const form = { name, storageClassName, size: '10Gi', accessMode: 'ReadWriteOnce' };
    await this.ok('POST', '/namespaces/shop/volumes', form);
  }

  /** Creates a service with one replica that mounts a volume. */
  async service(name = 's', claim = 'v'): Promise<void> {
    await this.ok('POST', '/namespaces/shop/services', {
      ...{ name, runtime: 'container', image: 'web', scale: 1 },
      volumes: [{ name: 'data', mountPath: '/data', claim: { name: claim } }],
    });
  }

  async remove(path: string): Promise<void> {
    await this.ok('DELETE', path);
  }

  async get(path: string): Promise<Json | undefined> {
    const { status, body } = await this.rest('GET', path);
    return status === 404 ? undefined : body;
  }

  /** Time passes until a condition holds. @throws Error with the volume, the instance and the service as they are then */
  async until<T>(
    what: string,
    condition: () => Promise<T | undefined | false>,
    stepsMax = steps,
  ): Promise<T> {
    for (let step = 0; step < stepsMax; step += 1) {
      const found = await condition();
      if (found !== undefined && found !== false) return found;
      await this.world.advance(stepMs);
    }
    const seen = ['volumes/v', 'instances/s-0', 'services/s'].map((path) =>
      this.get(`/namespaces/shop/${path}`),
    );
    throw new Error(
      `${what} was not seen: ${JSON.stringify(await Promise.all(seen), undefined, 1)}`,
    );
  }

  /** The volume once it has a status. */
  volumeIn(status: string, name = 'v'): Promise<Json> {
    return this.until(`${name} ${status}`, async () => {
      const found = await this.get(`/namespaces/shop/volumes/${name}`);
      return found?.['status'] === status && found;
    });
  }

  running(name = 's'): Promise<Json> {
    return this.until(`${name} to run`, async () => {
      const found = await this.get(`/namespaces/shop/instances/${name}-0`);
      return found?.['status'] === 'Running' && found;
    });
  }

  /** Resolves once something is gone. */
  async gone(path: string): Promise<void> {
    await this.until(`${path} gone`, async () => (await this.get(path)) === undefined);
  }

  /** `volume ID`, `attached ID to INSTANCE`, at the provider. */
  async existing(kind: 'volume' | 'attached' | 'snapshot'): Promise<readonly string[]> {
    return (await this.emulator.inventory()).filter((line) => line.startsWith(`${kind} `));
  }

  async detached(): Promise<void> {
    await this.until('the detach', async () => (await this.existing('attached')).length === 0);
  }

  /** Requests since `work` began. */
  async requestsDuring(work: () => Promise<unknown>): Promise<readonly LoggedRequest[]> {
    const before = this.emulator.requests.length;
    await work();
    return this.emulator.requests.slice(before);
  }

  /** The node that has the only attached volume. */
  async holder(): Promise<(typeof nodeNames)[number]> {
    const [line = ''] = await this.existing('attached');
    const found = nodeNames.find((name) => line.endsWith(` to ${name}`));
    if (!found) throw new Error(`no node has it: ${line}`);
    return found;
  }

  /** Ends the world. @throws Error if a token is visible anywhere, or a request differs from the provider's definition */
  async stop(): Promise<void> {
    const kinds = ['secrets', 'volumes', 'snapshots', 'services', 'instances', 'events'];
    for (const kind of kinds) await this.rest('GET', `/namespaces/shop/${kind}`);
    for (const kind of ['storageclasses', 'nodes']) await this.rest('GET', `/${kind}`);
    const kept = await keptTexts(this.world.directory, this.#engine);
    await this.world.stop();
    await this.emulator.close();
    const found = disclosing(secrets, [...loggedTexts(this.#logger), ...kept]);
    expect([...this.#disclosing, ...found], 'what is disclosed').to.deep.equal([]);
    expect(this.emulator.violations).to.deep.equal([]);
  }
}

function emulatorOf(
  provider: ProviderName,
  { actionMs = 1_000, volumesMax = 100, perPage, placeOf }: CloudWorldOptions,
  parts: {
    readonly clock: FakeClock;
    readonly disks: SeenDisks;
    readonly tokens: readonly Token[];
  },
): Pick<CloudWorld, 'emulator' | 'machine'> {
  return createEmulator({
    provider,
    clock: parts.clock,
    devices: parts.disks,
    random: seededRandom(1),
    actionMs,
    volumesMax,
    ...(perPage === undefined ? {} : { perPage }),
    instances: nodeNames.map((name) => ({ name, place: placeOf?.(name) ?? places[provider] })),
    tokens: parts.tokens,
  });
}
