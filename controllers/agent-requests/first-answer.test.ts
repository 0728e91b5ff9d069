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

  /** A call whose agent opened the stream of its answers, and has sent none. */
  function silentCall(): AgentCall {
    const call = new AgentCall('far', { exec: {} }, clock);
    const never = (async function* (): AsyncIterable<JsonObject> {
      await new Promise(() => undefined);
    })();
    void call.serve(never, new AbortController().signal)[Symbol.asyncIterator]().next();
    return call;
  }

  it('of an agent that is connected and does nothing is awaited for 45 s, and then its call ends', async () => {
    const call = silentCall();
    const first = errorOf(call.answers()[Symbol.asyncIterator]().next());
    await clock.advance(44_999);
    expect(call.ended.aborted).to.equal(false);
    await clock.advance(1);
    expect(await first).to.deep.include({ code: 'DeadlineExceeded', reason: 'AgentSilent' });
    expect(String(await first)).to.contain('the agent of node far did not answer within 45 s');
    expect(call.ended.aborted).to.equal(true);
  });

  it('of a request whose work is long is awaited without a limit', async () => {
    const call = silentCall();
    const first = errorOf(call.answers({ begins: false })[Symbol.asyncIterator]().next());
    await clock.advance(3_600_000);
    expect(call.ended.aborted).to.equal(false);
    call.close();
    expect(await first).to.include({ reason: 'AgentLost' });
  });

  const target = { uid: 'u', namespace: 'default', name: 'web-0', status: 'Running' };

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
          { runtimes: [runtime], clock },
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
