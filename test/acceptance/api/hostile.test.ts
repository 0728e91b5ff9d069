import { readFile } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { Client, credentials, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { eventually } from 'kedge/testing';
import { apiSchemas } from '@kedge/api/client';
import { TestDaemon } from '../daemon.js';

const seed = Number(process.env.KEDGE_FUZZ_SEED ?? 7863);
const factor = Number(process.env.KEDGE_FUZZ_FACTOR ?? 1);

describe('hostile input', function () {
  this.timeout(600_000);
  let daemon: TestDaemon;
  const random = seededRandom(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)]!;
  const bytes = (length: number): Buffer =>
    Buffer.from(Array.from({ length }, () => Math.floor(random.next() * 256)));

  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());
  /** Asserts that the server still answers and had no internal error. */
  const requireServing = async (): Promise<void> => {
    expect((await daemon.rest('GET', '/v1/nodes')).status).to.equal(200);
    expect(daemon.log).to.not.contain('request failed');
    expect(daemon.log).to.not.contain('uncaught');
  };
  const residentMiB = async (): Promise<number> => {
    const text = await readFile(`/proc/${daemon.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1]) / 1_024;
  };
  const portOf = (address: string): number => Number(address.split(':')[1]);

  it(`malformed protobuf causes no internal error (seed ${seed})`, async () => {
    const schemas = apiSchemas();
    const methods = schemas
      .services('api')
      .flatMap((service) =>
        service.methods.map((m) => ({ path: `/${service.typeName}/${m.name}`, m })),
      )
      .filter(({ m }) => m.methodKind === 'unary' && !/Bootstrap|RotateKeys/.test(m.name));
    const client = new Client(daemon.grpcAddress, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${daemon.token}`);
    const raw = (b: Buffer): Buffer => b;
    const codeOf = (path: string, body: Buffer): Promise<status> =>
      new Promise((resolve) => {
        client.makeUnaryRequest(path, raw, raw, body, metadata, (error: ServiceError | null) =>
          resolve(error ? error.code : status.OK),
        );
      });
    const whole = Buffer.from(
      schemas.encode(schemas.message('api.CreateVolumeRequest'), {
        namespace: 'default',
        volume: { name: 'v', size: '1Gi', accessMode: 'ReadWriteOnce', labels: { a: 'b' } },
        dryRun: true,
      }),
    );
    const mutated = (): Buffer => {
      const copy = Buffer.from(whole);
      for (let n = 0; n < 1 + random.next() * 4; n += 1)
        copy[Math.floor(random.next() * copy.length)] = Math.floor(random.next() * 256);
      return copy.subarray(0, Math.ceil(random.next() * copy.length));
    };
    const codes = new Set<status>();
    for (let round = 0; round < 40 * factor; round += 1)
      for (const code of await Promise.all(
        Array.from({ length: 50 }, () => {
          const { path } =
            random.next() < 0.5 ? pick(methods) : { path: '/api.VolumeService/Create' };
          return codeOf(path, random.next() < 0.5 ? mutated() : bytes(random.next() * 200));
        }),
      ))
        codes.add(code);
    client.close();
    const fine = [
      status.OK,
      status.INVALID_ARGUMENT,
      status.NOT_FOUND,
      status.ALREADY_EXISTS,
      status.FAILED_PRECONDITION,
      status.ABORTED,
      status.OUT_OF_RANGE,
    ];
    expect(fine).to.include.members([...codes]);
    await requireServing();
  });

  it('an unknown field of a request is refused by its number, in every unary gRPC method', async () => {
    const schemas = apiSchemas();
    const client = new Client(daemon.grpcAddress, credentials.createInsecure());
    const metadata = new Metadata();
    metadata.set('authorization', `Bearer ${daemon.token}`);
    const raw = (b: Buffer): Buffer => b;
    const refusal = (path: string, body: Buffer): Promise<ServiceError | null> =>
      new Promise((resolve) => {
        client.makeUnaryRequest(path, raw, raw, body, metadata, (error: ServiceError | null) =>
          resolve(error),
        );
      });
    // Field number 5000, an integer.
    const unknown = Buffer.from([0xc0, 0xb8, 0x02, 0x01]);
    for (const service of schemas.services('api'))
      for (const { name, methodKind, input } of service.methods) {
        if (methodKind !== 'unary' || /Bootstrap/.test(name)) continue;
        const path = `/${service.typeName}/${name}`;
        const outer = await refusal(path, unknown);
        expect(outer?.code, path).to.equal(status.INVALID_ARGUMENT);
        expect(outer?.details, path).to.contain(`${input.typeName} has no field with number 5000`);
        const field = input.fields.find((f) => f.fieldKind === 'message' && f.number < 16);
        if (!field?.message) continue;
        const nested = [Buffer.from([field.number * 8 + 2, unknown.length]), unknown];
        const inner = await refusal(path, Buffer.concat(nested));
        expect(inner?.details, path).to.equal(
          `${field.jsonName}.5000: ${field.message.typeName} has no field with number 5000; omit it, or use a server with an API that has the field`,
        );
      }
    client.close();
    await requireServing();
  });

  it('malformed JSON, paths and queries are 4xx', async () => {
    const tokens = [
      '{',
      '}',
      '[',
      ']',
      '"',
      ':',
      ',',
      '1e999',
      '-',
      'null',
      '"name"',
      '"a"',
      '\\u0000',
      '\ud800',
      '{"__proto__":1}',
      '[[[[',
    ];
    const paths = [
      '/v1/namespaces/default/volumes',
      '/v1/nodes/%00',
      '/v1/namespaces/%2e%2e/volumes',
      '/v1//nodes',
      '/v1/namespaces/default/volumes/%ff',
      '/v1/cast',
      '/%',
      '/v1/namespaces/default/volumes?limit=1&limit=2',
      '/v1/namespaces/default/volumes?labelSelector=%ff(((',
    ];
    const statuses = new Set<number>();
    for (let round = 0; round < 40 * factor; round += 1)
      for (const code of await Promise.all(
        Array.from({ length: 25 }, async () => {
          const body = Array.from({ length: random.next() * 20 }, () => pick(tokens)).join('');
          const response = await fetch(`http://${daemon.restAddress}${pick(paths)}`, {
            method: 'POST',
            headers: {
              authorization: `Bearer ${daemon.token}`,
              'content-type': pick(['application/json', 'application/json', 'text/plain', 'x']),
            },
            body,
          });
          await response.arrayBuffer();
          return response.status;
        }),
      ))
        statuses.add(code);
    for (const code of statuses) expect(code, String(code)).to.be.within(400, 499);
    await requireServing();
  });

  it('data that is not HTTP does not affect the server, on both ports', async () => {
    const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
    const send = (port: number, data: Buffer): Promise<void> =>
      new Promise((resolve) => {
        const socket = connect(port, '127.0.0.1', () => socket.write(data));
        const finish = (): void => {
          socket.destroy();
          resolve();
        };
        socket.on('data', () => undefined);
        socket.on('close', finish);
        socket.on('error', finish);
        socket.setTimeout(50, finish);
      });
    for (let round = 0; round < 10 * factor; round += 1)
      await Promise.all(
        Array.from({ length: 100 }, () => {
          const frames = Array.from({ length: random.next() * 4 }, () => {
            const frame = bytes(9 + random.next() * 60);
            // With an almost correct length the parser continues.
            if (random.next() < 0.7) frame.writeUIntBE(Math.max(0, frame.length - 9), 0, 3);
            return frame;
          });
          const data = pick([
            bytes(random.next() * 300),
            Buffer.concat([preface, ...frames]),
            Buffer.from(`GET / HTTP/1.1\r\n${bytes(80).toString('latin1')}\r\n\r\n`, 'latin1'),
            Buffer.from('POST /v1/cast HTTP/1.1\r\ncontent-length: -1\r\n\r\n'),
            Buffer.from(
              'GET / HTTP/1.1\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\nzzz',
            ),
          ]);
          return send(portOf(pick([daemon.grpcAddress, daemon.restAddress])), data);
        }),
      );
    await requireServing();
  });

  it('slow connections are closed, and delay no other request', async () => {
    const sockets: Socket[] = [];
    let closed = 0;
    for (let n = 0; n < 300; n += 1) {
      const socket = connect(portOf(daemon.restAddress), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.on('close', () => (closed += 1));
      // A connection that is not read does not report its end.
      socket.resume();
      socket.write('GET /v1/nodes HTTP/1.1\r\nhost: x\r\nx-slow: ');
      sockets.push(socket);
    }
    const started = performance.now();
    for (let n = 0; n < 20; n += 1) await daemon.ok('GET', '/v1/nodes');
    const tookMs = performance.now() - started;
    // Headers are awaited for 10 s: a connection queued behind one would take that long.
    expect(tookMs / 20, 'milliseconds for each other request').to.be.lessThan(2_000);
    await eventually('all of them to be closed', () => closed === sockets.length, 90_000);
  });

  it('opening and closing many connections leaks no memory', async () => {
    const cycles = Number(process.env.KEDGE_CONNECTION_CYCLES ?? 30_000);
    const ports = [portOf(daemon.grpcAddress), portOf(daemon.restAddress)];
    const once = (n: number): Promise<void> =>
      new Promise((resolve, reject) => {
        const socket = connect(ports[n % 2]!, '127.0.0.1', () => socket.resetAndDestroy());
        socket.on('error', reject);
        socket.on('close', () => resolve());
      });
    const many = async (count: number): Promise<void> => {
      let next = 0;
      const worker = async (): Promise<void> => {
        while (next < count) await once((next += 1));
      };
      await Promise.all(Array.from({ length: 64 }, worker));
    };
    const resident: number[] = [];
    for (let round = 0; round < 10; round += 1) {
      await many(cycles / 10);
      resident.push(await residentMiB());
    }
    // A leak shows in every round. Uncollected garbage shows only in some.
    const grown = Math.min(...resident.slice(-3)) - Math.max(...resident.slice(0, 3));
    console.log(`      ${resident.map(Math.round).join(', ')} MiB during ${cycles} connections`);
    expect(grown).to.be.lessThan(40);
    await requireServing();
  });
});
