import { descriptorSet } from '@kedge/api';
import { StatusError } from 'kedge';
import { ApiClient } from 'kedge/client';
import { baseDescriptors, SchemaRegistry } from 'kedge/rpc';
import { eventually } from 'kedge/testing';
import { type Answer, TestDaemon, workload } from '../daemon.js';

/** A JSON body. */
export type JsonObject = Readonly<Record<string, unknown>>;

/** Path of the namespace of all objects here. */
export const base = '/v1/namespaces/default';
/** The code of a refusal for missing rights, over either transport. */
export const denied = /^(PERMISSION_DENIED|PermissionDenied)$/;

/** The outcome of a call with the message of its refusal. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** The outcome of a client call. */
export async function refused(call: Promise<unknown>): Promise<Refusal> {
  try {
    await call;
    return { code: 'OK', message: '' };
  } catch (error) {
    const { code, message } = StatusError.from(error);
    return { code, message };
  }
}

const where = { namespace: 'default' };
const local = { runtime: 'container', image: 'x' };

/**
 * A daemon and a caller with the token of its node's agent. The node has the instances `mine-0`, which runs
 * with the volume `mine`, and `disk-0`, which waits for the volume `disk` of a driver with credentials. The
 * instance `elsewhere-0`, the volume `foreign` and the secret `treasure` do not belong to the node.
 */
export class NodeCaller implements AsyncDisposable {
  readonly daemon: TestDaemon;
  readonly node: string;
  readonly #token: string;
  /** The services of the kinds over gRPC. */
  readonly api: ApiClient;
  readonly #objects: ApiClient;

  private constructor(daemon: TestDaemon, node: string, token: string) {
    this.daemon = daemon;
    this.node = node;
    this.#token = token;
    const caller = { server: daemon.grpcAddress, token };
    const schemas = new SchemaRegistry(descriptorSet);
    this.api = new ApiClient({ ...caller, schemas, packageName: 'api' });
    const shared = new SchemaRegistry(baseDescriptors);
    this.#objects = new ApiClient({ ...caller, schemas: shared, packageName: 'kedge' });
  }

  static async start(): Promise<NodeCaller> {
    const environment = { KEDGE_NODE_LABELS: 'svc.io/region=x' };
    const daemon = await TestDaemon.start({ environment });
    const node = String((await daemon.list('/v1/nodes'))[0]?.name);
    const account = { kind: 'serviceAccount', policies: ['node'], node };
    await daemon.ok('POST', '/v1/admin/users', { name: 'agent', ...account });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'agent' });
    for (const name of ['credential', 'treasure'])
      await daemon.ok('POST', `${base}/secrets`, { name, data: { token: 'sesame' } });
    await daemon.ok('POST', '/v1/storageclasses', {
      name: 'cloud',
      driver: 'cloud1-volume',
      // One reference has no target, so no provider is called.
      parameters: { apiToken: 'secret:credential/token', region: 'x', fsType: 'secret:none/k' },
    });
    const { volume, service } = workload(daemon, 'mine', 'sleep 600');
    await daemon.ok('POST', `${base}/volumes`, volume);
    const cloud = { storageClassName: 'cloud', parameters: {} };
    for (const name of ['foreign', 'disk'])
      await daemon.ok('POST', `${base}/volumes`, { ...volume, ...cloud, name });
    await daemon.ok('POST', `${base}/services`, service);
    const volumes = [{ name: 'data', mountPath: '/data', claim: { name: 'disk' } }];
    await daemon.ok('POST', `${base}/services`, { ...service, ...local, name: 'disk', volumes });
    const far = { name: 'elsewhere', nodeSelector: { far: 'away' }, volumes: [] };
    await daemon.ok('POST', `${base}/services`, { ...service, ...far });
    await eventually('the instances', async () => {
      const all = await daemon.list(`${base}/instances`);
      const bound = all.filter((instance) => instance.node === node);
      return bound.length === 2 && all.length === 3 && bound.some((i) => i.status === 'Running');
    });
    return new NodeCaller(daemon, node, String(token));
  }

  rest(method: string, path: string, body?: object): Promise<Answer> {
    return this.daemon.rest(method, path, body, this.#token);
  }

  async refusal(method: string, path: string, body?: object): Promise<Refusal> {
    const { status, body: answer } = await this.rest(method, path, body);
    return { code: status === 200 ? 'OK' : String(answer.status), message: String(answer.message) };
  }

  transact(...operations: readonly JsonObject[]): Promise<Refusal> {
    return refused(this.#objects.call('ObjectService.Transact', { operations }));
  }

  /** The outcome of reading one cluster-scoped object. */
  read(kind: string, name: string): Promise<Refusal> {
    return refused(this.#objects.call('ObjectService.Get', { kind, name }));
  }

  /** A transaction of a caller with all rights. */
  async asRoot(...operations: readonly JsonObject[]): Promise<void> {
    const { grpcAddress: server, token } = this.daemon;
    const schemas = new SchemaRegistry(baseDescriptors);
    const root = new ApiClient({ server, token, schemas, packageName: 'kedge' });
    await root.call('ObjectService.Transact', { operations });
    root.close();
  }

  /** The same status write by every method. */
  async write(
    kind: 'Volume' | 'Instance',
    name: string,
    status: JsonObject,
  ): Promise<Readonly<Record<string, Refusal>>> {
    const singular = kind.toLowerCase();
    const operation = {
      type: 'UPDATE_STATUS',
      kind,
      ...where,
      name,
      object: JSON.stringify(status),
    };
    const own = { type: 'UPDATE_STATUS', kind: 'Node', name: this.node, object: '{"version":"1"}' };
    const request = { ...where, name, [singular]: status };
    return {
      rest: await this.refusal('PUT', `${base}/${singular}s/${name}/status`, status),
      grpc: await refused(this.api.call(`${kind}Service.UpdateStatus`, request)),
      transaction: await this.transact(operation),
      'transaction with others': await this.transact(own, operation),
    };
  }

  /** The outcome of reading the secret that no object of the node needs. */
  async treasure(): Promise<number> {
    return (await this.rest('GET', `${base}/secrets/treasure?reveal=true`)).status;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.api.close();
    this.#objects.close();
    await this.daemon.dispose();
  }
}
