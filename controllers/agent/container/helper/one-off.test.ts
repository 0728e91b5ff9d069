import { expect } from 'chai';
import { FakeClock } from 'kedge/testing';
import { FakeEngine, json } from '../../../testing/fake-engine.js';
import { EngineClient } from '../engine/engine-client.js';
import { OneOffContainers } from './one-off.js';

const minute = 60_000;

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
      // By an earlier release.
      'earlier-ended': { node: 'true', state: 'exited', at: at(2 * minute) },
    };
    const labels = (node: string) => ({ 'svc.io/cluster': 'c', 'svc.io/once': node });
    engine.answer = (request, response) => {
      const url = new URL(request.url ?? '', 'http://engine');
      const [, , kind = '', key = '', verb = ''] = url.pathname.split('/');
      if (kind === 'images') return json(response, 200, { Id: 'sha256:1', RepoDigests: [] });
      if (key === 'json')
        return json(
          response,
          200,
          Object.entries(found).map(([Id, { node, state }]) => ({
            ...{ Id, Names: [`/${Id}`], Labels: labels(node), State: state },
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
