import { setTimeout as delay } from 'node:timers/promises';
import { kedgeClient } from '@kedge/api/client';
import { expect } from 'chai';
import { type JsonObject, textOf } from 'kedge/rpc';
import { TestDaemon } from '../daemon.js';

const node = 'far';

/** An image in the answer of an agent. */
const imageOf = (index: number): JsonObject => ({
  id: `sha256:${String(index).padStart(64, '0')}`,
  tags: [`registry.example/a-team/an-application:${index}`],
  sizeBytes: '1',
  createdAt: '2026-01-01T00:00:00.000Z',
});

describe('images of a node with an agent that hangs, or of an earlier release', function () {
  this.timeout(120_000);
  let daemon: TestDaemon;
  let stop: AbortController;
  /** The answer of the agent to a request; undefined: none, and the stream stays open. */
  let answerTo: (request: JsonObject) => JsonObject | undefined;
  let requests: JsonObject[];

  before(async () => {
    daemon = await TestDaemon.start();
    const account = { kind: 'serviceAccount', policies: ['node'], node };
    await daemon.ok('POST', '/v1/admin/users', { name: 'agent', ...account });
    const { token } = await daemon.ok('POST', '/v1/auth/tokens', { subject: 'agent' });
    await daemon.ok('POST', '/v1/nodes', { name: node });
    await daemon.ok('PUT', `/v1/nodes/${node}/status`, { status: 'Ready', agentId: 'played' });
    stop = new AbortController();
    const { api } = kedgeClient({ server: daemon.grpcAddress, token: String(token) });
    const { signal } = stop;
    const end = new Promise<void>((resolve) =>
      signal.addEventListener('abort', () => resolve(), { once: true }),
    );
    async function* start(given: JsonObject) {
      yield { start: { node, ...given } };
      await end;
    }
    async function serve(id: string): Promise<void> {
      let given: (request: JsonObject) => void = () => undefined;
      const request = new Promise<JsonObject>((resolve) => {
        given = resolve;
      });
      async function* answers() {
        yield { start: { node, id } };
        const answer = answerTo(await request);
        if (answer) yield answer;
        else await end;
      }
      for await (const message of api.duplex('AgentService.Answer', answers(), signal)) {
        requests.push(message);
        given(message);
      }
    }
    const connected = new Promise<void>((resolve, reject) => {
      void (async () => {
        const calls = api.duplex('AgentService.Connect', start({ agentId: 'played' }), signal);
        for await (const call of calls) {
          const id = textOf(call, 'id');
          if (id === '') resolve();
          else if (call.ended !== true) serve(id).catch(() => undefined);
        }
      })().catch(reject);
    });
    await connected;
  });
  beforeEach(() => {
    requests = [];
    answerTo = () => undefined;
  });
  after(async () => {
    stop?.abort();
    await daemon?.dispose();
  });

  const list = () => daemon.cli('image', 'list', '--node', node);

  it('are not listed, and the error has the remedy and arrives before the deadline of the client', async () => {
    const begun = performance.now();
    const { code, stdout, stderr } = await list();
    expect([code === 0, stdout]).to.deep.equal([false, '']);
    expect(stderr).to.match(
      /the agent of node far did not answer within \d+ s, .*restart it .* on node far, list them: docker image ls/,
    );
    expect(performance.now() - begun).to.be.within(24_000, 30_000);
    expect(requests, 'repeated').to.have.length(1);
  });

  it('are all listed if the agent ignores pages', async () => {
    const items = Array.from({ length: 1_200 }, (_, index) => imageOf(index));
    answerTo = () => ({ images: { items } });
    const { code, stdout, stderr } = await list();
    expect(code, stderr).to.equal(0);
    expect(stdout.match(/an-application:\d+/g)).to.have.length(1_200);
    expect(requests.length).to.be.greaterThan(1);
  });

  it('are pruned by a request that is awaited for longer than others', async () => {
    let begun = 0;
    answerTo = (request) => {
      begun = performance.now();
      expect(request).to.have.property('pruneImages');
      return undefined;
    };
    const pruning = daemon.cli('image', 'prune', '--node', node);
    const ended = await Promise.race([pruning.then(() => true), delay(33_000, false)]);
    expect(ended, 'ended by itself').to.equal(false);
    expect(performance.now() - begun).to.be.greaterThan(30_000);
    stop.abort();
    const { code, stderr } = await pruning;
    expect(code).to.not.equal(0);
    expect(stderr).to.contain(`the connection to the agent of node ${node} was lost`);
  });
});
