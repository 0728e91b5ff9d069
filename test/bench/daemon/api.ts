import { spawn } from 'node:child_process';
import { Agent, request } from 'node:http';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Client, credentials, Metadata } from '@grpc/grpc-js';
import { apiSchemas, kedgeClient } from '@kedge/api/client';
import { ApiClient } from 'kedge/client';
import { TestDaemon } from '../../acceptance/daemon.js';
import { notes, notesApi } from '../measuring/notes.js';
import { type BenchOptions, compared, type Measurement, median } from '../measuring/measurement.js';

const concurrency = 32;
const base = '/v1/namespaces/default/configmaps';

type Call = () => Promise<unknown>;

async function perSecond(call: Call, ms: number): Promise<number> {
  const started = performance.now();
  let done = 0;
  const worker = async (): Promise<void> => {
    while (performance.now() - started < ms) {
      await call();
      done += 1;
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return (done * 1_000) / (performance.now() - started);
}

function grpcCall(port: string, path: string, body: Buffer, token: string): Call {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure(), {
    'grpc.max_receive_message_length': -1,
  });
  const raw = (bytes: Buffer): Buffer => bytes;
  const metadata = new Metadata();
  metadata.set('authorization', `Bearer ${token}`);
  return () =>
    new Promise((resolve, reject) => {
      client.makeUnaryRequest(path, raw, raw, body, metadata, (error, answer) => {
        if (error) reject(error);
        else resolve(answer);
      });
    });
}

function restCall(port: string, path: string, token: string): Call {
  const agent = new Agent({ keepAlive: true, maxSockets: concurrency });
  const headers = { authorization: `Bearer ${token}` };
  return () =>
    new Promise((resolve, reject) => {
      const call = request({ host: '127.0.0.1', port, path, agent, headers }, (response) => {
        response.on('data', () => undefined);
        response.on('end', resolve);
      });
      call.on('error', reject);
      call.end();
    });
}

/** A process with the baselines, which answer with the same bytes as the daemon. */
async function echo(grpcBytes: Buffer, restBytes: Buffer) {
  const file = fileURLToPath(new URL('./api-echo-child.js', import.meta.url));
  const args = [file, grpcBytes.toString('base64'), restBytes.toString('base64')];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: child.stdout })) {
    const { grpc, rest } = JSON.parse(line) as { grpc: number; rest: number };
    return { grpc: String(grpc), rest: String(rest), stop: () => child.stdin.end() };
  }
  throw new Error('the baselines did not start');
}

async function ratio(
  name: string,
  gate: number,
  baseline: string,
  ours: Call,
  bare: Call,
  quick: boolean,
): Promise<Measurement> {
  const ms = quick ? 50 : 1_500;
  for (const call of [ours, bare]) await perSecond(call, quick ? 50 : 2_000);
  const rounds: { value: number; baseline: number }[] = [];
  for (let n = 0; n < (quick ? 1 : 7); n += 1)
    rounds.push({ value: await perSecond(ours, ms), baseline: await perSecond(bare, ms) });
  const { baselineValue, ...rest } = compared(rounds);
  return {
    name,
    unit: '/s',
    better: 'higher',
    gate,
    baseline: { what: baseline, value: baselineValue },
    ...rest,
  };
}

/** The longest slice of a new server while a client lists `count` objects `times` times, over one transport. */
async function longestListSlice(
  transport: 'gRPC' | 'REST',
  count: number,
  times: number,
): Promise<number> {
  const file = fileURLToPath(new URL('./api-list-child.js', import.meta.url));
  const args = ['--expose-gc', file, String(count)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async <T>(): Promise<T> => JSON.parse(String((await lines.next()).value)) as T;
  const ports = await next<{ grpc: number; rest: number }>();
  const rest = restCall(String(ports.rest), '/v1/namespaces/default/notes', 'any');
  using client = new ApiClient({ ...notesApi, server: `127.0.0.1:${ports.grpc}`, token: 'any' });
  // Without a limit: the largest pages of the server.
  const pages = client.resource(notes, { pageSize: 0 });
  const list: Call = transport === 'REST' ? rest : () => pages.list({ namespace: 'default' });
  for (let n = 0; n < times; n += 1) await list();
  child.stdin.end();
  return (await next<{ longestMs: number }>()).longestMs;
}

/** The median of several servers, which excludes slices caused by other processes. */
async function listSlice(
  transport: 'gRPC' | 'REST',
  count: number,
  quick: boolean,
): Promise<Measurement> {
  const found: number[] = [];
  for (let round = 0; round < (quick ? 1 : 5); round += 1)
    found.push(await longestListSlice(transport, count, quick ? 1 : 10));
  const longestMs = median(found);
  return {
    name: `longest slice while ${count} objects are listed over ${transport}`,
    value: longestMs,
    unit: 'ms',
    ratio: longestMs,
    spread: [Math.min(...found), Math.max(...found)],
    better: 'lower',
    gate: 20,
  };
}

/**
 * The API compared with bare servers that send the same bytes, and the longest slices of servers that list many
 * objects.
 */
export async function run({ quick }: BenchOptions): Promise<readonly Measurement[]> {
  const daemon = await TestDaemon.start();
  const count = quick ? 200 : 10_000;
  try {
    using client = kedgeClient({ server: daemon.grpcAddress, token: daemon.token });
    await client.configmaps.create({
      name: 'object-0',
      namespace: 'default',
      labels: {},
      data: { text: 'x'.repeat(700) },
      version: 0,
    });
    const schemas = apiSchemas();
    const body = Buffer.from(
      schemas.encode(schemas.message('api.GetConfigmapRequest'), {
        namespace: 'default',
        name: 'object-0',
      }),
    );
    const [, grpcPort = ''] = daemon.grpcAddress.split(':');
    const [, restPort = ''] = daemon.restAddress.split(':');
    const get = grpcCall(grpcPort, '/api.ConfigmapService/Get', body, daemon.token);
    const bytes = (await get()) as Buffer;
    const shown = Buffer.from(JSON.stringify(await daemon.ok('GET', `${base}/object-0`)));
    const bare = await echo(bytes, shown);
    try {
      return [
        await ratio(
          `Get over gRPC, ${bytes.length} bytes, ${concurrency} at once`,
          0.7,
          'bare grpc-js echo',
          get,
          grpcCall(bare.grpc, '/echo.Echo/Echo', body, daemon.token),
          quick,
        ),
        await ratio(
          `Get over REST, ${shown.length} bytes, ${concurrency} at once`,
          0.6,
          'bare fastify route',
          restCall(restPort, `${base}/object-0`, daemon.token),
          restCall(bare.rest, '/v1/echo/object-0', daemon.token),
          quick,
        ),
        await listSlice('REST', count, quick),
        await listSlice('gRPC', count, quick),
      ];
    } finally {
      bare.stop();
    }
  } finally {
    await daemon.dispose();
  }
}
