import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { FakeEngine, json } from '../../../testing/fake-engine.js';
import { EngineClient } from '../engine/engine-client.js';
import { OneOffContainers } from './one-off.js';

const minute = 60_000;
const emptyImage = `sha256:${'e'.repeat(64)}`;

describe('a one-off container', () => {
  let engine: FakeEngine;
  let created: Record<string, unknown>;
  let exitCode: number;
  beforeEach(async () => {
    engine = await FakeEngine.start();
    exitCode = 0;
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      const [path = ''] = (request.url ?? '').split('?');
      if (path.endsWith('/containers/json')) return json(response, 200, []);
      // An image that a user of the engine loaded under the name.
      if (path.includes('/images/kedge-empty')) return json(response, 200, { Id: 'sha256:loaded' });
      if (path.endsWith('/images/create')) return json(response, 200, { status: emptyImage });
      if (path.includes('/images/')) return json(response, 200, { Id: emptyImage });
      if (path.endsWith('/wait')) return json(response, 200, { StatusCode: exitCode });
      if (path.endsWith('/logs')) return void response.writeHead(200).end();
      if (!path.endsWith('/create')) return void response.writeHead(204).end();
      const pieces: Buffer[] = [];
      for await (const piece of request) pieces.push(piece as Buffer);
      created = JSON.parse(Buffer.concat(pieces).toString()) as typeof created;
      json(response, 201, { Id: 'new' });
    };
    engine.answer = (request, response) => void answer(request, response);
  });
  afterEach(() => engine.stop());
  const run = (): Promise<void> => {
    const clock = new FakeClock();
    return new OneOffContainers({
      engine: new EngineClient({ socketPath: engine.socketPath, clock }),
      ...{ cluster: 'c', node: 'here', clock, uuid: () => 'u' },
    }).run({ command: ['true'], directory: '/tmp' }, new AbortController().signal);
  };

  it('writes to one directory, and has neither a network nor further rights', async () => {
    await run();
    const { Mounts, CapAdd, ...host } = created.HostConfig as Record<string, unknown>;
    expect(host).to.deep.include({
      ...{ NetworkMode: 'none', CapDrop: ['ALL'], SecurityOpt: ['no-new-privileges'] },
    });
    expect(CapAdd).to.deep.equal(['CHOWN', 'DAC_OVERRIDE', 'FOWNER', 'FSETID']);
    const writable = (Mounts as Record<string, unknown>[]).filter((mount) => !mount.ReadOnly);
    expect(writable).to.deep.equal([{ Type: 'bind', Source: '/tmp', Target: '/target' }]);
  });

  it('uses the empty image that this process created, and not another image of that name', async () => {
    const clock = new FakeClock();
    const once = new OneOffContainers({
      engine: new EngineClient({ socketPath: engine.socketPath, clock }),
      ...{ cluster: 'c', node: 'here', clock, uuid: () => 'u' },
    });
    for (const round of [1, 2]) {
      await once.run({ command: ['true'], directory: '/tmp' }, new AbortController().signal);
      expect(created.Image, `${round}`).to.equal(emptyImage);
    }
    expect(engine.calls.filter((call) => call.includes('/images/create'))).to.have.length(1);
  });

  it('is removed after a failure, which is an error', async () => {
    exitCode = 3;
    expect(await run().then(() => '', String)).to.equal('Error: exit code 3');
    expect(engine.calls.filter((call) => /^DELETE .*containers/.test(call))).to.have.length(1);
  });
});

describe('one-off containers that processes left', () => {
  let engine: FakeEngine;
  beforeEach(async () => {
    engine = await FakeEngine.start();
  });
  afterEach(() => engine.stop());

  it('are removed by the next process of their node, and those of other nodes a minute after their end', async () => {
    const clock = new FakeClock();
    await clock.advance(60 * minute);
    const at = (ms: number): string => new Date(clock.now() - ms).toISOString();
    const never = '0001-01-01T00:00:00Z';
    const found: Readonly<Record<string, { node: string; state: string; at?: string }>> = {
      'own-running': { node: 'here', state: 'running' },
      'own-created': { node: 'here', state: 'created' },
      'other-running': { node: 'there', state: 'running', at: at(50 * minute) },
      'other-ended': { node: 'there', state: 'exited', at: at(2 * minute) },
      'other-ended-now': { node: 'there', state: 'exited', at: at(1_000) },
      'other-paused': { node: 'there', state: 'paused', at: at(2 * minute) },
      'other-created-now': { node: 'there', state: 'created' },
      workload: { node: 'here', state: 'running' },
      // By an earlier release.
      'earlier-ended': { node: 'true', state: 'exited', at: at(2 * minute) },
    };
    const labels = (node: string, name = '') => ({
      ...{ 'svc.io/cluster': 'c', 'svc.io/once': node },
      // Its image has the label of one-off containers.
      ...(name === 'workload' && { 'svc.io/instance': 'u', 'svc.io/run': '1' }),
    });
    engine.answer = (request, response) => {
      const url = new URL(request.url ?? '', 'http://engine');
      const [, , kind = '', key = '', verb = ''] = url.pathname.split('/');
      if (kind === 'images' && key === 'create') return json(response, 200, { status: emptyImage });
      if (kind === 'images') return json(response, 200, { Id: 'sha256:1', RepoDigests: [] });
      if (key === 'json')
        return json(
          response,
          200,
          Object.entries(found).map(([Id, { node, state }]) => ({
            ...{ Id, Names: [`/${Id}`], Labels: labels(node, Id), State: state },
          })),
        );
      if (key === 'create') return json(response, 201, { Id: 'new' });
      if (verb === 'wait') return json(response, 200, { StatusCode: 0 });
      const each = found[key];
      if (request.method === 'DELETE' && each?.state === 'paused')
        return json(response, 409, { message: 'You cannot remove a paused container' });
      if (verb === 'json' && each)
        return json(response, 200, {
          ...{ Id: key, Name: `/${key}`, Created: at(1_000), Image: 'sha256:1' },
          Config: { Labels: labels(each.node) },
          State: { Status: each.state, ExitCode: 0, Error: '', FinishedAt: each.at ?? never },
        });
      response.writeHead(204).end();
    };
    const once = new OneOffContainers({
      engine: new EngineClient({ socketPath: engine.socketPath, clock }),
      ...{ cluster: 'c', node: 'here', clock, uuid: () => 'u' },
    });
    await once.run({ command: ['true'], directory: '/tmp' }, new AbortController().signal);
    const removed = engine.calls.flatMap(
      (call) => /^DELETE .*\/containers\/([^?]+)\?force=(\w+)/.exec(call)?.slice(1).join(' ') ?? [],
    );
    expect(removed).to.deep.equal([
      ...['own-running true', 'own-created true'],
      ...['other-ended false', 'other-paused false', 'earlier-ended false', 'new true'],
    ]);
  });
});
