import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../../acceptance/daemon.js';
import { RealEngine } from '../../containers/engine.js';
import { cleanUp } from '../../drivers/devices.js';
import { credentialKeys, labelsOf, parametersOf, ServedCloud } from '../drivers/served-cloud.js';
import type { ProviderName } from '../index.js';

const base = '/v1/namespaces/default';
const node = 'life';

/** Texts that no log may contain. */
export const secrets: readonly string[] = ['dop_v1_token-of-the-life-of-a-volume', 'PRIVATE KEY'];

/** Sizes of volumes before and after growth, GiB. */
export const sizes = {
  cloud1: [1, 2],
  cloud2: [10, 12],
  cloud3: [1, 2],
  cloud4: [10, 12],
} as const satisfies Readonly<Record<ProviderName, readonly [number, number]>>;

/** All providers. */
export const providers = ['cloud1', 'cloud2', 'cloud3', 'cloud4'] as const;

/** The credential of the class, except of cloud4. */
const token = 'dop_v1_token-of-the-life-of-a-volume';

/** A kedged with a container engine and an emulated provider whose volumes are loop devices. Its class is `c`. */
export class CloudMachine {
  readonly engine: RealEngine;
  readonly daemon: TestDaemon;
  readonly cloud: ServedCloud;
  readonly folder: string;
  readonly #gib: number;

  private constructor(
    parts: Pick<CloudMachine, 'engine' | 'daemon' | 'cloud' | 'folder'>,
    gib: number,
  ) {
    this.engine = parts.engine;
    this.daemon = parts.daemon;
    this.cloud = parts.cloud;
    this.folder = parts.folder;
    this.#gib = gib;
  }

  /** @param gib size of the volumes */
  static async start(
    provider: ProviderName,
    fsType: string,
    gib: number,
    { deviceMs }: { readonly deviceMs?: number } = {},
  ): Promise<CloudMachine> {
    const engine = await RealEngine.start();
    const folder = await mkdtemp(join(tmpdir(), 'kedge-life-'));
    const cloud = await ServedCloud.start(provider, { folder, node, token });
    const config = join(folder, 'kedged.toml');
    const { endpoint, deviceDirectory } = cloud.settings;
    const labels = Object.entries(labelsOf(provider))
      .map(([key, value]) => `"${key}" = "${value}"`)
      .join(', ');
    const parameters = parametersOf(provider, token);
    const key = credentialKeys[provider];
    await writeFile(
      config,
      `[node]
name = "${node}"
labels = { ${labels} }
[drivers.${cloud.driverName}]
endpoint = "${endpoint}"
deviceDirectory = "${deviceDirectory}"
[drivers.${cloud.driverName}.timeouts]
requestMs = 2000
${deviceMs === undefined ? '' : `deviceMs = ${deviceMs}\n`}`,
    );
    const daemon = await TestDaemon.start({
      arguments: ['--config', config],
      environment: { KEDGE_RUNTIME_DOCKER_SOCKET: engine.socketPath },
    });
    await daemon.ok('POST', `${base}/secrets`, { name: 'cloud', data: { token: parameters[key] } });
    await daemon.ok('POST', '/v1/storageclasses', {
      ...{ name: 'c', driver: cloud.driverName, reclaimPolicy: 'delete' },
      parameters: {
        ...{ ...parameters, fsType },
        [key]: 'secret:cloud.default.svc/token',
      },
    });
    return new CloudMachine({ engine, daemon, cloud, folder }, gib);
  }

  async stop(): Promise<void> {
    await this.daemon.end('SIGTERM');
    await this.cloud.close();
    await cleanUp(this.daemon.home);
    await cleanUp(this.folder);
    await this.daemon.dispose();
    await this.engine.stop();
  }

  async create(name: string, more: object = {}): Promise<void> {
    const size = `${this.#gib}Gi`;
    const form = { name, storageClassName: 'c', size, accessMode: 'ReadWriteOnce' };
    await this.daemon.ok('POST', `${base}/volumes`, { ...form, ...more });
  }

  async remove(path: string): Promise<void> {
    await this.daemon.ok('DELETE', `${base}${path}`);
    const gone = async () => (await this.daemon.rest('GET', `${base}${path}`)).status === 404;
    await eventually(`${path} to be gone`, gone, 120_000);
  }

  /** The attachments at the provider, as `attached ID to INSTANCE`. */
  async attached(): Promise<readonly string[]> {
    const all = await this.cloud.running.inventory();
    return all.filter((line) => line.startsWith('attached '));
  }
}
