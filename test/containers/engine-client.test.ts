import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { EngineClient, type EngineError } from '@kedge/controllers';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { busyboxImage, RealEngine, requireEngine } from './engine.js';

const label = 'svc.io/test';

describe('EngineClient with a real engine', function () {
  this.timeout(300_000);
  const { signal } = new AbortController();
  let engine: RealEngine;
  let client: EngineClient;

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start();
    client = new EngineClient({ socketPath: engine.socketPath, clock: systemClock });
  });
  after(async () => {
    await engine?.stop();
  });
  afterEach(async () => {
    for (const { id } of await client.containers.list([], signal))
      await client.containers.remove(id, signal, { force: true });
  });

  function shell(script: string, more: object = {}): Promise<string> {
    const config = {
      Image: busyboxImage,
      Cmd: ['sh', '-c', script],
      Labels: { [label]: 'yes' },
      NetworkDisabled: true,
      ...more,
    };
    return client.containers.create('kedge-test', config, signal);
  }

  async function errorOf(work: Promise<unknown>): Promise<EngineError> {
    return work.then(
      () => Promise.reject(new Error('it was no error')),
      (error: unknown) => error as EngineError,
    );
  }

  async function logOf(id: string): Promise<string> {
    let text = '';
    for await (const { data } of client.containers.logs(id, { follow: false }, signal))
      text += String(data);
    return text.replaceAll(/^\S+ /gm, '');
  }

  it('the engine reports its versions', async () => {
    const { version, apiVersion } = await client.version(signal);
    expect(version).to.match(/^\d+\./);
    expect(apiVersion).to.match(/^1\.\d+$/);
  });

  it('a container is created, started and ends with its exit code, with an event for each step', async () => {
    const ends = new AbortController();
    const heard: string[] = [];
    let open = false;
    const listening = (async () => {
      for await (const { action, attributes } of client.events(ends.signal, () => (open = true)))
        if (attributes[label] === 'yes') heard.push(action);
    })().catch(() => undefined);
    await eventually('the events', () => open);
    const id = await shell('echo out; echo err >&2; exit 3');
    const created = await client.containers.inspect(id, signal);
    expect(created).to.deep.include({ id, name: 'kedge-test', state: 'created', pid: 0 });
    expect(created?.startedAt).to.equal(undefined);
    await client.containers.start(id, signal);
    expect(await client.containers.wait(id, signal)).to.equal(3);
    const ended = await client.containers.inspect(id, signal);
    expect(ended).to.deep.include({ state: 'exited', exitCode: 3, outOfMemory: false, error: '' });
    expect(ended?.finishedAt).to.be.closeTo(ended?.startedAt ?? 0, 60_000);
    expect((await logOf(id)).split('\n').sort()).to.deep.equal(['', 'err', 'out']);
    await eventually('the event of the end', () => heard.includes('die'));
    ends.abort();
    await listening;
    expect(heard).to.deep.equal(['create', 'start', 'die']);
    const found = await client.containers.list([label], signal);
    expect(found).to.deep.equal([
      { id, name: 'kedge-test', labels: { [label]: 'yes' }, state: 'exited', mounts: [] },
    ]);
    expect(await client.containers.list([`${label}=no`], signal)).to.deep.equal([]);
    await client.containers.remove(id, signal);
    await client.containers.remove(id, signal);
    expect(await client.containers.inspect(id, signal)).to.equal(undefined);
  });

  it('a start of a running container has no effect, and a kill of one that does not run returns false', async () => {
    const id = await shell('sleep 100', { HostConfig: { Init: true } });
    expect(await client.containers.kill(id, 'SIGTERM', signal)).to.equal(false);
    await client.containers.start(id, signal);
    await client.containers.start(id, signal);
    expect(await client.containers.kill(id, 'SIGTERM', signal)).to.equal(true);
    expect(await client.containers.wait(id, signal)).to.equal(143);
    expect(await client.containers.kill('no-such-one', 'SIGTERM', signal)).to.equal(false);
  });

  it('a stop without a grace period kills', async () => {
    const id = await shell("trap '' TERM; echo up; sleep 100 & wait; wait");
    await client.containers.start(id, signal);
    await eventually('the trap', async () => (await logOf(id)) === 'up\n');
    await client.containers.stop(id, 0, signal);
    expect((await client.containers.inspect(id, signal))?.exitCode).to.equal(137);
  });

  it('a name in use is a conflict, a missing image and a missing command are errors', async () => {
    await shell('exit 0');
    expect((await errorOf(shell('exit 0'))).kind).to.equal('Conflict');
    const missing = client.containers.create('other', { Image: 'no-such-image:1' }, signal);
    const error = await errorOf(missing);
    expect([error.kind, error.message]).to.deep.equal([
      'NotFound',
      'No such image: no-such-image:1',
    ]);
    const config = { Image: busyboxImage, Cmd: ['/no/such'], NetworkDisabled: true };
    const id = await client.containers.create('no-command', config, signal);
    expect((await errorOf(client.containers.start(id, signal))).message).to.match(/\/no\/such/);
    const failed = await client.containers.inspect(id, signal);
    expect(failed).to.deep.include({ state: 'created', exitCode: 127 });
    expect(failed?.error).to.match(/no such file/);
  });

  it('a log is followed to the end of its container, and is complete when it is read afterwards', async () => {
    const id = await shell(
      'for i in 1 2 3; do echo $i; sleep 0.2; done; head -c 40000 /dev/zero | tr "\\0" x',
    );
    await client.containers.start(id, signal);
    const texts: string[] = [];
    for (const follow of [true, false]) {
      let text = '';
      for await (const { data } of client.containers.logs(id, { follow }, signal))
        text += String(data);
      texts.push(text);
    }
    const [followed = '', complete = ''] = texts;
    expect(complete.replaceAll(/^\S+ /gm, '').split('\n').slice(0, 3)).to.deep.equal([
      '1',
      '2',
      '3',
    ]);
    expect(complete.match(/x/g)).to.have.lengthOf(40_000);
    // A followed log may miss the last frames: the engine ends the stream with the container.
    expect(complete.startsWith(followed)).to.equal(true);
    expect(followed).to.match(/ 3\n/);
  });

  it('a command gets its input to the end, and its output and exit code are returned', async () => {
    const id = await shell('sleep 100');
    await client.containers.start(id, signal);
    const exec = await client.exec.create(
      id,
      {
        AttachStdin: true,
        AttachStdout: true,
        AttachStderr: true,
        Cmd: ['sh', '-c', 'cat; echo end >&2; exit 7'],
      },
      signal,
    );
    const { socket, head } = await client.exec.start(exec, false, signal);
    const chunks = [head];
    socket.write('input\n');
    socket.end();
    for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    expect(text).to.include('input\n').and.include('end\n');
    await eventually('the exit', async () => !(await client.exec.inspect(exec, signal)).running);
    expect((await client.exec.inspect(exec, signal)).exitCode).to.equal(7);
  });

  it('a terminal has the size of the last resize', async () => {
    const id = await shell('sleep 100');
    await client.containers.start(id, signal);
    const script = 'read line; stty size; exit 0';
    const config = {
      AttachStdin: true,
      AttachStdout: true,
      AttachStderr: true,
      Tty: true,
      Cmd: ['sh', '-c', script],
    };
    const exec = await client.exec.create(id, config, signal);
    const { socket, head } = await client.exec.start(exec, true, signal);
    await client.exec.resize(exec, { columns: 101, rows: 37 }, signal);
    socket.write('\n');
    let text = String(head);
    for await (const chunk of socket as AsyncIterable<Buffer>) text += String(chunk);
    expect(text).to.include('37 101');
  });

  it('an image is listed, saved, removed and loaded from its tar', async () => {
    const before = await client.images.inspect(busyboxImage, signal);
    expect(before).to.deep.include({ tags: [busyboxImage], digests: [] });
    expect((await client.images.list(signal)).map(({ id }) => id)).to.deep.equal([before?.id]);
    const tar = join(engine.directory, 'saved.tar');
    engine.docker('save', '--output', tar, busyboxImage);
    expect(await client.images.remove(busyboxImage, signal)).to.equal(true);
    expect(await client.images.remove(busyboxImage, signal)).to.equal(false);
    expect(await client.images.inspect(busyboxImage, signal)).to.equal(undefined);
    const progress: string[] = [];
    const loaded = await client.images.load(createReadStream(tar), signal, ({ text }) => {
      progress.push(text);
    });
    expect(loaded).to.deep.equal([busyboxImage]);
    expect(progress).to.include('Loading layer');
    expect(await client.images.inspect(busyboxImage, signal)).to.deep.include({ id: before?.id });
  });

  it('a pull from an unreachable registry fails with the message of the engine', async () => {
    const request = { repository: '127.0.0.1:1/app', version: 'v1' };
    const error = await errorOf(client.images.pull(request, signal).next());
    expect(error.kind).to.equal('Failed');
    expect(error.message).to.match(/connection refused/);
  });

  it('a bridge is created once, found by name, and is not removed while a container uses it', async () => {
    const name = 'kedge-test-bridge';
    expect(await client.networkNamed(name, signal)).to.equal(undefined);
    const id = await client.createBridge(name, { [label]: 'yes' }, signal);
    const labels = { [label]: 'yes' };
    expect(await client.networkNamed(name, signal)).to.deep.equal({ id, labels });
    expect((await errorOf(client.createBridge(name, {}, signal))).kind).to.equal('Conflict');
    const container = await client.containers.create(
      'kedge-test',
      { Image: busyboxImage, Cmd: ['sleep', '100'], HostConfig: { NetworkMode: name } },
      signal,
    );
    await client.containers.start(container, signal);
    const { addresses } = (await client.containers.inspect(container, signal)) ?? {};
    expect(addresses?.[name]).to.match(/^\d+\.\d+\.\d+\.\d+$/);
    expect((await errorOf(client.removeNetwork(id, signal))).kind).to.equal('Unauthorized');
    await client.containers.remove(container, signal, { force: true });
    await client.removeNetwork(id, signal);
    await client.removeNetwork(id, signal);
  });

  it('a call fails while the engine is stopped, and later ones reach the new engine', async () => {
    const id = await shell('sleep 100');
    await client.containers.start(id, signal);
    const before = await client.containers.inspect(id, signal);
    await engine.killDockerd();
    expect((await errorOf(client.images.list(signal))).kind).to.equal('Unreachable');
    await engine.startDockerd();
    const { pid, startedAt, state } = (await client.containers.inspect(id, signal)) ?? {};
    expect({ pid, startedAt, state }).to.deep.equal({
      pid: before?.pid,
      startedAt: before?.startedAt,
      state: 'running',
    });
  });
});
