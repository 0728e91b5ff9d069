import { expect } from 'chai';
import type { JsonObject } from 'kedge/rpc';
import { FakeClock, settle } from 'kedge/testing';
import type { ExecProcess, Runtime } from '../agent/index.js';
import { PlayedRuntime } from '../testing/played-runtime.js';
import { AgentCall } from './agent-call.js';
import { startCommand } from './start-command.js';

const errorOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('the first answer', () => {
  let clock: FakeClock;
  beforeEach(() => {
    clock = new FakeClock();
  });

  const place = { node: 'far', remedy: 'do it there' };

  /** A call whose agent opened the stream of its answers and sends those; then it does nothing. */
  function callOf(...given: readonly JsonObject[]): {
    readonly call: AgentCall;
    /** The stream takes the next message for the agent. */
    readonly take: () => Promise<unknown>;
  } {
    const call = new AgentCall(place, { exec: {} }, clock);
    const answers = (async function* (): AsyncIterable<JsonObject> {
      yield* given;
      await new Promise(() => undefined);
    })();
    const served = call.serve(answers, new AbortController().signal)[Symbol.asyncIterator]();
    void served.next();
    return { call, take: () => served.next() };
  }

  it('of an agent that is connected and does not answer is awaited for 45 s, and then the call ends', async () => {
    const { call } = callOf();
    const first = errorOf(call.answers()[Symbol.asyncIterator]().next());
    await clock.advance(44_999);
    expect(call.ended.aborted).to.equal(false);
    await clock.advance(1);
    // A client repeats a read that is DeadlineExceeded.
    expect(await first).to.deep.include({ code: 'FailedPrecondition', reason: 'AgentSilent' });
    expect(String(await first)).to.match(
      /the agent of node far did not answer within 45 s, .* on node far, do it there/,
    );
    expect(call.ended.aborted).to.equal(true);
  });

  it('is followed by others without a limit', async () => {
    const { call } = callOf({ begun: true });
    const answers = call.answers()[Symbol.asyncIterator]();
    await answers.next();
    const second = errorOf(answers.next());
    await clock.advance(86_400_000);
    expect(call.ended.aborted).to.equal(false);
    call.close();
    expect(await second).to.include({ reason: 'AgentLost' });
  });

  it('of long work is awaited longer while the agent receives the input', async () => {
    const { call, take } = callOf();
    const patience = { firstMs: 600_000, furtherMs: 90_000 };
    const first = errorOf(call.answers(patience)[Symbol.asyncIterator]().next());
    for (let taken = 0; taken < 3; taken += 1) {
      void call.send({ data: 'YQ==' });
      await clock.advance(599_999);
      expect(call.ended.aborted).to.equal(false);
      await take();
    }
    void take();
    await settle();
    await clock.advance(600_000);
    expect(await first).to.include({ reason: 'AgentSilent' });
  });

  it('of long work that the agent reports is followed by its reports, each awaited for 90 s', async () => {
    const { call } = callOf({ progress: 'a' }, { begun: true }, { progress: 'b' });
    const answers = call.answers({ firstMs: 600_000, furtherMs: 90_000 })[Symbol.asyncIterator]();
    const before: unknown[] = [];
    for (let read = 0; read < 3; read += 1) before.push((await answers.next()).value);
    expect(before).to.deep.equal([{ progress: 'a' }, { begun: true }, { progress: 'b' }]);
    const last = errorOf(answers.next());
    await clock.advance(89_999);
    expect(call.ended.aborted).to.equal(false);
    await clock.advance(1);
    expect(String(await last)).to.contain('did not answer within 90 s');
  });

  it('of an agent that does not report that work began is awaited after each text as long as the first', async () => {
    const { call } = callOf({ progress: 'a' });
    const answers = call.answers({ firstMs: 600_000, furtherMs: 90_000 })[Symbol.asyncIterator]();
    await answers.next();
    const last = errorOf(answers.next());
    await clock.advance(599_999);
    expect(call.ended.aborted).to.equal(false);
    await clock.advance(1);
    expect(await last).to.include({ reason: 'AgentSilent' });
  });

  const target = { uid: 'u', namespace: 'default', name: 'web-0', status: 'Running' };

  it('of exec on a node without the runtime names the node, its runtimes and the remedy', async () => {
    const refused = (runtimes: readonly Runtime[]): Promise<unknown> =>
      errorOf(
        startCommand(
          { node: 'far', runtimes, clock },
          { ...target, runtime: 'container' },
          { command: ['true'], terminal: undefined },
        ),
      );
    const message = (has: string): string =>
      `commands can't be run in "default/web-0": runtime container is not available on node far; it has: ${has}; the remedy: kedge why instance/web-0 -n default`;
    expect(await refused([new PlayedRuntime()])).to.deep.include({
      reason: 'RuntimeUnavailable',
      message: message('process'),
    });
    expect(await refused([])).to.deep.include({ message: message('none') });
  });

  it('of exec in a workload that is being stopped reports that the workload does not run', async () => {
    const runtime: Runtime = Object.assign(new PlayedRuntime(), {
      exec: () => Promise.reject(new Error('not called')),
    });
    const refused = await errorOf(
      startCommand(
        { node: 'n', runtimes: [runtime], clock },
        { ...target, runtime: 'process' },
        { command: ['true'], terminal: undefined },
      ),
    );
    expect(refused).to.include({ code: 'FailedPrecondition', reason: 'NotRunning' });
    expect(String(refused)).to.contain(
      'the workload of instance "default/web-0" does not run at present',
    );
  });

  for (const hangs of ['exec', 'observe'] as const)
    it(`of exec fails after 30 s where the runtime hangs in ${hangs}`, async () => {
      const played = new PlayedRuntime();
      await played.start({ id: 'u' } as never);
      let killed = 0;
      let begun = 0;
      let release: () => void = () => undefined;
      const hung = new Promise<void>((resolve) => {
        release = resolve;
      });
      const command = { kill: () => (killed += 1) } as unknown as ExecProcess;
      const runtime: Runtime = Object.assign(played, {
        exec: () => {
          begun += 1;
          return hung.then(() => command);
        },
        ...(hangs === 'observe' && {
          observe: () => hung.then(() => played.states.get('u') ?? { state: 'absent' }),
        }),
      });
      const starting = errorOf(
        startCommand(
          { node: 'n', runtimes: [runtime], clock },
          { ...target, runtime: 'process' },
          { command: ['true'], terminal: undefined },
        ),
      );
      await clock.advance(29_999);
      expect(killed).to.equal(0);
      await clock.advance(1);
      expect(await starting).to.deep.include({ code: 'DeadlineExceeded', reason: 'ExecTimeout' });
      expect(String(await starting)).to.match(
        /did not start in "default\/web-0" within 30 s, and is ended if it starts later; check its node/,
      );
      release();
      await settle();
      const isBegun = hangs === 'exec';
      expect(begun, 'starts, none of them after the deadline').to.equal(isBegun ? 1 : 0);
      expect(killed, 'once it starts after all').to.equal(isBegun ? 1 : 0);
    });
});
