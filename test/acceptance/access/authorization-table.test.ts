import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { baseDescriptors, type HttpRoute, httpRoute, SchemaRegistry } from 'kedge/rpc';
import { eventually } from 'kedge/testing';
import { descriptorSet } from '@kedge/api';
import { TestDaemon } from '../daemon.js';

interface Method {
  readonly id: string;
  readonly path: string;
  readonly route: HttpRoute | undefined;
}

function methodsOf(descriptors: string, packageName: string): readonly Method[] {
  const schemas = new SchemaRegistry(descriptors);
  return schemas.services(packageName).flatMap((service) =>
    service.methods.map((method) => ({
      id: `${service.name}.${method.name}`,
      path: `/${service.typeName}/${method.name}`,
      route: httpRoute(schemas.registry, method),
    })),
  );
}

const methods = [
  ...methodsOf(descriptorSet, 'api'),
  ...methodsOf(baseDescriptors, 'grpc.health.v1'),
  ...methodsOf(baseDescriptors, 'grpc.reflection.v1'),
];
/** Methods that need no token. Other tests cover them. */
const open = ['AdminService.Bootstrap', 'AdminService.AdminBootstrap'];
/** Methods that any valid token may call; rights are checked per object. */
const anyToken = [
  'AuthService.WhoAmI',
  'AuthService.CanI',
  'CastService.Cast',
  'Health.Check',
  'Health.Watch',
  'ServerReflection.ServerReflectionInfo',
];

/** Methods for the service account of a node only, whatever rights others have. */
const nodeOnly = ['AgentService.Connect', 'AgentService.Answer'];

/** The outcome of a call: unauthenticated, permission denied, or allowed. */
type Outcome = 'unauthenticated' | 'denied' | 'allowed';

function outcomeOfGrpc(code: status): Outcome {
  if (code === status.UNAUTHENTICATED) return 'unauthenticated';
  if (code === status.PERMISSION_DENIED) return 'denied';
  if ([status.INTERNAL, status.UNIMPLEMENTED, status.UNKNOWN].includes(code))
    throw new Error(`gRPC code ${code}`);
  return 'allowed';
}

function outcomeOfRest(code: number): Outcome {
  if (code === 401) return 'unauthenticated';
  if (code === 403) return 'denied';
  if (code >= 500) throw new Error(`HTTP status ${code}`);
  return 'allowed';
}

describe('every method, by who calls it', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  const tokens: Record<string, string | undefined> = {};
  /** `<method> <caller> <transport>`. All calls run concurrently, because answers for wrong tokens are delayed. */
  const outcomes = new Map<string, Promise<Outcome>>();

  const overGrpc = (path: string, token: string | undefined): Promise<Outcome> => {
    const client = new Client(daemon.grpcAddress, credentials.createInsecure());
    const metadata = new Metadata();
    if (token) metadata.set('authorization', `Bearer ${token}`);
    const raw = (b: Buffer): Buffer => b;
    return new Promise<Outcome>((resolve, reject) => {
      const call = client.makeServerStreamRequest(path, raw, raw, Buffer.alloc(0), metadata);
      call.on('data', () => resolve('allowed'));
      call.on('end', () => resolve('allowed'));
      call.on('error', (error: ServiceError) => {
        try {
          resolve(outcomeOfGrpc(error.code));
        } catch (cause) {
          reject(new Error(`${path}: ${error.message}`, { cause }));
        }
      });
    }).finally(() => client.close());
  };

  const overRest = async (route: HttpRoute, token: string | undefined): Promise<Outcome> => {
    const path = route.path.replace('{namespace}', 'default').replace('{name}', 'x');
    const body = route.method === 'POST' || route.method === 'PUT' ? '{}' : undefined;
    const stop = new AbortController();
    const response = await fetch(`http://${daemon.restAddress}${path}`, {
      method: route.method,
      signal: stop.signal,
      headers: {
        ...(token ? { authorization: `Bearer ${token}` } : {}),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    stop.abort();
    return outcomeOfRest(response.status);
  };

  before(async () => {
    daemon = await TestDaemon.start();
    await daemon.ok('POST', '/v1/admin/users', { name: 'nobody' });
    const token = async (ttlSeconds: number): Promise<string> =>
      String((await daemon.ok('POST', '/v1/auth/tokens', { subject: 'nobody', ttlSeconds })).token);
    tokens.powerless = await token(0);
    tokens.expired = await token(1);
    tokens.root = daemon.token;
    tokens.wrong = `${daemon.token.slice(0, -9)}x${daemon.token.slice(-8)}`;
    await eventually('the token to expire', async () => {
      const answer = await daemon.rest('GET', '/v1/auth/whoami', undefined, tokens.expired);
      return answer.status === 401;
    });
    for (const { id, path, route } of methods.filter((m) => !open.includes(m.id)))
      for (const caller of ['none', 'wrong', 'expired', 'powerless', 'root']) {
        outcomes.set(`${id} ${caller} gRPC`, overGrpc(path, tokens[caller]));
        if (route) outcomes.set(`${id} ${caller} REST`, overRest(route, tokens[caller]));
      }
    // Each call is awaited by its own test.
    for (const outcome of outcomes.values()) outcome.catch(() => undefined);
  });
  after(() => daemon.dispose());

  for (const { id, route } of methods.filter((m) => !open.includes(m.id)))
    for (const transport of route ? ['gRPC', 'REST'] : ['gRPC'])
      it(`${id} over ${transport}: without, with a wrong and with an expired token, without a right, as root`, async () => {
        const outcome = (caller: string) => outcomes.get(`${id} ${caller} ${transport}`);
        expect(await outcome('none'), 'no token').to.equal('unauthenticated');
        expect(await outcome('wrong'), 'wrong token').to.equal('unauthenticated');
        expect(await outcome('expired'), 'expired token').to.equal('unauthenticated');
        const least = anyToken.includes(id) ? 'allowed' : 'denied';
        expect(await outcome('powerless'), 'no right').to.equal(least);
        const most = nodeOnly.includes(id) ? 'denied' : 'allowed';
        expect(await outcome('root'), 'root').to.equal(most);
      });
});
