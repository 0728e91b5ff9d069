import { mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually, FakeClock } from 'kedge/testing';
import { FakeEngine, frame, json } from '../../../testing/fake-engine.js';
import { EngineClient } from './engine-client.js';
import { EngineError } from './engine-error.js';

async function errorOf(work: Promise<unknown>): Promise<EngineError> {
  try {
    await work;
  } catch (error) {
    if (error instanceof EngineError) return error;
    throw error;
  }
  throw new Error('it did not fail');
}

async function all<T>(source: AsyncIterable<T>): Promise<readonly T[]> {
  const items: T[] = [];
  for await (const item of source) items.push(item);
  return items;
}

describe('EngineClient', () => {
  const { signal } = new AbortController();
  let engine: FakeEngine;
  let client: EngineClient;

  beforeEach(async () => {
    engine = await FakeEngine.start();
    client = new EngineClient({ socketPath: engine.socketPath, clock: systemClock });
  });
  afterEach(() => engine.stop());

  it('requests the version once, and uses it in every call', async () => {
    engine.answer = (_request, response) => json(response, 200, []);
    await client.containers.list(['svc.io/cluster'], signal);
    await client.images.list(signal);
    expect(engine.calls.map((call) => call.split('?')[0])).to.deep.equal([
      'GET /version',
      'GET /v1.41/containers/json',
      'GET /v1.41/images/json',
    ]);
  });

  it('requests the version again after a broken connection', async () => {
    engine.answer = (request) => request.socket.destroy();
    expect((await errorOf(client.images.list(signal))).kind).to.equal('Broken');
    engine.version = { Version: '27.0', ApiVersion: '1.46', MinAPIVersion: '1.24' };
    engine.answer = (_request, response) => json(response, 200, []);
    await client.images.list(signal);
    expect(engine.calls.at(-1)).to.equal('GET /v1.44/images/json');
  });

  it('a refusal has the kind of its status and the message of the engine', async () => {
    const kinds = {
      400: 'BadRequest',
      403: 'Unauthorized',
      404: 'NotFound',
      409: 'Conflict',
      500: 'Failed',
    };
    for (const [status, kind] of Object.entries(kinds)) {
      engine.answer = (_request, response) =>
        json(response, Number(status), { message: 'words\n' });
      const error = await errorOf(client.containers.create('name', {}, signal));
      expect([error.kind, error.status, error.message]).to.deep.equal([
        kind,
        Number(status),
        'words',
      ]);
    }
    engine.answer = (_request, response) => void response.writeHead(502).end('<html>');
    expect((await errorOf(client.images.list(signal))).message).to.equal('<html>');
  });

  it('the errors for a missing socket, and for one without a listener, contain the remedy', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'kedge-engine-'));
    try {
      const missing = new EngineClient({ socketPath: join(folder, 'no.sock'), clock: systemClock });
      const error = await errorOf(missing.version(signal));
      expect(error.kind).to.equal('Unreachable');
      expect(error.message).to.match(/no\.sock does not exist; install and start an engine/);
      // The failure is not cached: an engine that is started at the path answers the next call.
      await symlink(engine.socketPath, join(folder, 'no.sock'));
      expect((await missing.version(signal)).version).to.equal('20.10.24');
      await writeFile(join(folder, 'file.sock'), '');
      const dead = new EngineClient({ socketPath: join(folder, 'file.sock'), clock: systemClock });
      expect((await errorOf(dead.version(signal))).message).to.match(
        /^nothing answers at .*; start/,
      );
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('a call that is not answered ends at its deadline, before that of its caller, and leaves no timer', async () => {
    const clock = new FakeClock();
    const slow = new EngineClient({ socketPath: engine.socketPath, clock });
    await slow.version(signal);
    engine.answer = () => undefined;
    const failing = errorOf(slow.images.list(signal, true));
    await eventually('the call to arrive', () => engine.calls.length === 2);
    await clock.advance(20_000);
    const error = await failing;
    expect(error.kind).to.equal('Timeout');
    expect(error.message).to.equal(
      'the container engine made no progress with GET /v1.41/images/json for 20 s',
    );
    expect(clock.pending).to.equal(0);
  });

  it('a call whose answer stops in the middle ends at its deadline too', async () => {
    const clock = new FakeClock();
    const slow = new EngineClient({ socketPath: engine.socketPath, clock });
    engine.answer = (_request, response) => void response.writeHead(200).write('[{');
    const failing = errorOf(slow.images.list(signal, true));
    await eventually('the call to arrive', () => engine.calls.length === 2);
    await clock.advance(20_000);
    expect((await failing).kind).to.equal('Timeout');
  });

  it('a list that is part of a load or a prune has a longer deadline than one for a caller', async () => {
    const clock = new FakeClock();
    const slow = new EngineClient({ socketPath: engine.socketPath, clock });
    await slow.version(signal);
    engine.answer = () => undefined;
    const failing = errorOf(slow.images.list(signal));
    await eventually('the call to arrive', () => engine.calls.length === 2);
    await clock.advance(299_999);
    expect(clock.pending).to.equal(1);
    await clock.advance(1);
    expect((await failing).kind).to.equal('Timeout');
  });

  it('a call ends with the signal of its caller', async () => {
    const caller = new AbortController();
    engine.answer = () => caller.abort();
    expect((await errorOf(client.images.list(caller.signal))).kind).to.equal('Cancelled');
    expect((await errorOf(client.images.list(caller.signal))).kind).to.equal('Cancelled');
  });

  it('an answer beyond the bound is not read to its end', async () => {
    engine.answer = (_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(1024 * 1024, 0x20)));
        response.once('drain', more);
      };
      response.writeHead(200);
      more();
    };
    const error = await errorOf(client.images.list(signal));
    expect(error.kind).to.equal('Malformed');
    expect(error.message).to.match(/longer than 16777216 bytes/);
  });

  it('an answer that is not JSON, or of another form, is malformed', async () => {
    engine.answer = (_request, response) => void response.writeHead(200).end('<html>');
    expect((await errorOf(client.images.list(signal))).kind).to.equal('Malformed');
    engine.answer = (_request, response) => json(response, 200, { Containers: [] });
    expect((await errorOf(client.containers.list([], signal))).kind).to.equal('Malformed');
    engine.answer = (_request, response) => json(response, 201, {});
    const create = client.containers.create('name', {}, signal);
    expect((await errorOf(create)).message).to.equal("the engine's answer has no Id");
  });

  it('events are received as they happen, until the engine closes the connection', async () => {
    let open: ServerResponse | undefined;
    engine.answer = (_request, response) => {
      open = response;
      response.writeHead(200).flushHeaders();
    };
    let heard = 0;
    const events = client.events(signal, () => (heard += 1));
    const first = events.next();
    await eventually('the stream to open', () => heard === 1);
    open?.write('{"Type":"container","Action":"die","Actor":{"ID":"c1","Attri');
    open?.write('butes":{"exitCode":"3"}},"timeNano":1700000009500123456}\n');
    expect((await first).value).to.deep.equal({
      type: 'container',
      action: 'die',
      id: 'c1',
      at: 1_700_000_009_500,
      attributes: { exitCode: '3' },
    });
    const second = events.next();
    open?.write('{"Type":"container","Action":"die","Actor":{"ID":"c1"}}\n');
    expect((await second).value).to.include({ at: undefined });
    open?.destroy();
    expect((await errorOf(events.next())).kind).to.equal('Broken');
  });

  it('a pull whose registry refuses in the middle fails with its message, and shows no password', async () => {
    let header: string | undefined;
    engine.answer = (request, response) => {
      header = request.headers['x-registry-auth'] as string;
      response.writeHead(200);
      response.write(
        '{"status":"Downloading","id":"l1","progressDetail":{"current":5,"total":9}}\n',
      );
      response.end('{"errorDetail":{"message":"denied: no access"},"error":"denied: no access"}\n');
    };
    const credentials = { username: 'u', password: 'secret-word', serverAddress: 'r.example.com' };
    const progress: string[] = [];
    const error = await errorOf(
      (async () => {
        const request = { repository: 'r.example.com/app', version: 'v1', credentials };
        for await (const step of client.images.pull(request, signal))
          progress.push(`${step.layer} ${step.currentBytes}/${step.totalBytes}`);
      })(),
    );
    expect(progress).to.deep.equal(['l1 5/9']);
    expect(error.message).to.equal('denied: no access');
    expect(JSON.parse(Buffer.from(header ?? '', 'base64url').toString())).to.deep.equal({
      username: 'u',
      password: 'secret-word',
      serveraddress: 'r.example.com',
    });
    expect(engine.calls.at(-1)).to.equal(
      'POST /v1.41/images/create?fromImage=r.example.com%2Fapp&tag=v1',
    );
    expect(engine.calls.join()).not.to.include('secret-word');
  });

  it('a pull without progress fails, and no part of it continues', async () => {
    const clock = new FakeClock();
    const slow = new EngineClient({ socketPath: engine.socketPath, clock });
    let closed = false;
    engine.answer = (_request, response) => {
      response.writeHead(200).write('{"status":"Pulling"}\n');
      response.once('close', () => (closed = true));
    };
    const pull = slow.images.pull({ repository: 'app', version: 'v1' }, signal);
    await pull.next();
    const next = errorOf(pull.next());
    await eventually('the idle timer', () => clock.pending === 1);
    await clock.advance(300_000);
    expect((await next).kind).to.equal('Timeout');
    await eventually('the connection to end', () => closed);
    expect(clock.pending).to.equal(0);
  });

  it('a tar archive is streamed, and one without an image is reported', async () => {
    let bytes = 0;
    engine.answer = (request, response) => {
      request.on('data', (chunk: Buffer) => (bytes += chunk.length));
      request.on('end', () =>
        response.writeHead(200).end('{"stream":"Loaded image: app:v1\\n"}\n'),
      );
    };
    const chunks = (): Readable =>
      Readable.from(Array.from({ length: 64 }, () => Buffer.alloc(65_536)));
    expect(await client.images.load(chunks(), signal)).to.deep.equal(['app:v1']);
    expect(bytes).to.equal(64 * 65_536);
    engine.answer = (request, response) => {
      request.resume().on('end', () => response.writeHead(200).end());
    };
    expect((await errorOf(client.images.load(chunks(), signal))).message).to.match(
      /contains no image/,
    );
  });

  it('a tar whose source breaks off fails with the error of the source', async () => {
    engine.answer = (request) => void request.resume();
    const broken = Readable.from(
      (async function* () {
        yield Buffer.alloc(10);
        await Promise.resolve();
        throw new Error('the sender went away');
      })(),
    );
    await client.version(signal);
    const failed = await client.images.load(broken, signal).catch((error: unknown) => error);
    expect(String(failed)).to.include('the sender went away');
  });

  it('a log that is cut off ends with an error', async () => {
    const half = frame(1, 'half').subarray(0, 9);
    const cuts: readonly ((response: ServerResponse) => unknown)[] = [
      (response) => response.write(half, () => response.destroy()),
      (response) => response.end(half),
    ];
    for (const cut of cuts) {
      engine.answer = (_request, response) => {
        response.writeHead(200).write(frame(1, '2026-01-01T00:00:00.000000000Z one\n'));
        cut(response);
      };
      const log = client.containers.logs('c1', { follow: false }, signal);
      expect((await log.next()).done).to.equal(false);
      expect((await errorOf(all(log))).kind).to.equal('Broken');
    }
  });

  it('a command whose connection is refused is an error with the status', async () => {
    expect((await errorOf(client.exec.start('e1', false, signal))).kind).to.equal('NotFound');
    engine.upgrade = (_request, socket) =>
      void socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n');
    const error = await errorOf(client.exec.start('e1', false, signal));
    expect(error.message).to.match(
      /was answered with status 200 instead of an upgraded connection/,
    );
  });

  it('names are one segment of the path, regardless of their characters', async () => {
    await client.images.inspect('a/../../containers/json?x', signal);
    expect(engine.calls.at(-1)).to.equal(
      'GET /v1.41/images/a%2F..%2F..%2Fcontainers%2Fjson%3Fx/json',
    );
  });
});
