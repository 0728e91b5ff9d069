import { expect } from 'chai';
import { type EmbeddedStore, openStore, StatusError } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext } from 'kedge/server';
import { eventually, FakeClock, MemoryEngine } from 'kedge/testing';
import type { ExecExit, ExecOutput, ExecProcess } from '../agent/index.js';
import { ConnectedAgents } from '../agent-requests/index.js';
import { instances } from '../instance/kind.js';
import { PlayedRuntime } from '../testing/played-runtime.js';
import { execVerbs } from './verbs.js';

/** Maximum of a single account: half of all. */
const commandsMax = 64;

/** A command that runs until it is ended. */
class Command implements ExecProcess {
  readonly output: AsyncIterable<ExecOutput>;
  readonly exited: Promise<ExecExit>;
  end: () => void = () => undefined;

  constructor() {
    this.exited = new Promise((resolve) => {
      this.end = () => resolve({ code: 0, signal: '' });
    });
    this.output = this.#silence();
  }

  async *#silence(): AsyncGenerator<ExecOutput> {
    await this.exited;
  }

  kill(): void {
    this.end();
  }
  write(): Promise<void> {
    return Promise.resolve();
  }
  closeInput(): void {
    // Its input is not read.
  }
  resize(): Promise<void> {
    return Promise.resolve();
  }
  signal(): Promise<void> {
    return Promise.resolve();
  }
}

class CommandRuntime extends PlayedRuntime {
  readonly commands: Command[] = [];
  refusal: Error | undefined;

  exec(): Promise<ExecProcess> {
    if (this.refusal) return Promise.reject(this.refusal);
    const command = new Command();
    this.commands.push(command);
    return Promise.resolve(command);
  }
}

/** A call in progress. */
interface Call {
  readonly leave: () => void;
  /** Its answers, or the error. */
  readonly end: Promise<readonly JsonObject[] | StatusError>;
}

const ended = [{ exit: { code: 0, signal: '' } }];

describe('the bound of concurrent commands', () => {
  let store: EmbeddedStore;
  let runtime: CommandRuntime;
  let call: (
    method: 'Exec' | 'Run',
    further?: AsyncIterable<JsonObject>,
    name?: string,
    account?: string,
  ) => Call;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    const template = { runtime: 'process' as const, command: ['true'] };
    const key = { namespace: 'default', name: 'web-0' };
    const { metadata } = await store.create(instances, {
      ...{ ...key, service: 'web', ordinal: 0, template },
    });
    runtime = new CommandRuntime();
    runtime.states.set(metadata.uid, { state: 'running', run: 1, pid: 1, startedAt: 1 });
    const parts = { store, clock: new FakeClock() } as unknown as ApiParts;
    const methods = execVerbs(parts, { runtimes: [runtime], agents: new ConnectedAgents(parts) });
    call = (method, further = new Promised(), name = 'web-0', account = 'ann') => {
      const handler = methods.find(({ id }) => id === `ExecService.${method}`)?.handler;
      const left = new AbortController();
      const identity = { subject: account };
      const context = { signal: left.signal, identity } as unknown as CallContext;
      const request = { namespace: 'default', name, command: ['true'] };
      const answers = (): AsyncIterable<JsonObject> => {
        if (handler?.type === 'bidi') return handler.call(context, request, further);
        if (handler?.type === 'stream') return handler.call(context, request);
        throw new Error(`ExecService.${method} is no stream`);
      };
      const end = (async () => {
        const found: JsonObject[] = [];
        try {
          for await (const answer of answers()) found.push(answer);
          return found;
        } catch (error) {
          return StatusError.from(error);
        }
      })();
      return { leave: () => left.abort(), end };
    };
  });
  afterEach(async () => {
    for (const command of runtime.commands) command.end();
    await store.close();
  });

  /** Uses up the bound, by both methods. */
  async function full(further?: AsyncIterable<JsonObject>): Promise<readonly Call[]> {
    const calls = Array.from({ length: commandsMax }, (_, index) =>
      call(index % 2 === 0 ? 'Exec' : 'Run', index === 0 ? further : undefined),
    );
    await eventually('the commands', () => runtime.commands.length === commandsMax);
    return calls;
  }

  async function expectFull(): Promise<void> {
    for (const method of ['Exec', 'Run'] as const) {
      const error = await call(method).end;
      expect(error).to.include({ code: 'ResourceExhausted', reason: 'TooManyCommands' });
      expect(error).to.have.property('retryAfterMs', 5_000);
    }
    expect(runtime.commands, 'no command was started').to.have.lengthOf(commandsMax);
  }

  /** One more command fits, and not two. */
  async function expectRoomForOne(): Promise<void> {
    const next = call('Run');
    await eventually('one more', () => runtime.commands.length === commandsMax + 1);
    expect(await call('Exec').end).to.include({ reason: 'TooManyCommands' });
    runtime.commands.at(-1)?.end();
    expect(await next.end).to.deep.equal(ended);
  }

  it('is that of both methods, and the end of a command admits another one', async () => {
    const calls = await full();
    await expectFull();
    runtime.commands[0]?.end();
    await Promise.race(calls.map(({ end }) => end));
    await expectRoomForOne();
  });

  it('leaves a part to other accounts, of which each gets a part of the rest', async () => {
    await full();
    const started = async (account: string): Promise<number> => {
      const before = runtime.commands.length;
      for (;;) {
        const { end } = call('Run', undefined, 'web-0', account);
        const count = runtime.commands.length;
        const refused = await Promise.race([
          end,
          eventually('the command', () => runtime.commands.length > count),
        ]);
        if (refused instanceof StatusError) {
          expect(refused).to.include({ reason: 'TooManyCommands' });
          return runtime.commands.length - before;
        }
      }
    };
    expect([await started('bob'), await started('eve'), await started('ann')]).to.deep.equal([
      32, 16, 0,
    ]);
    expect(await call('Run').end)
      .to.have.property('message')
      .that.contains('64 commands of this account are running, and 48 of others')
      .and.contains('the remaining 16 of 128 are reserved for other accounts');
  });

  for (const index of [0, 1])
    it(`admits a command after a caller of ${index === 0 ? 'Exec' : 'Run'} disconnected`, async () => {
      const calls = await full();
      calls[index]?.leave();
      await calls[index]?.end;
      await expectRoomForOne();
    });

  it('admits a command after one was ended by an invalid message', async () => {
    const further = new Promised();
    const [first] = await full(further);
    further.send({ signal: 'SIGNONE' });
    expect(await first?.end).to.include({ code: 'InvalidArgument' });
    await expectRoomForOne();
  });

  it('is not used up by commands that do not start', async () => {
    runtime.refusal = new Error('no such program');
    for (let round = 0; round <= commandsMax; round += 1)
      expect(await call(round % 2 === 0 ? 'Exec' : 'Run').end).to.include({ reason: 'ExecFailed' });
    expect(await call('Exec', undefined, 'unknown').end).to.include({ code: 'NotFound' });
    runtime.refusal = undefined;
    await full();
    await expectFull();
  });
});

/** One message, which a test sends; the caller keeps its input open until then. */
class Promised implements AsyncIterable<JsonObject> {
  send: (message: JsonObject) => void = () => undefined;
  readonly #message = new Promise<JsonObject>((resolve) => (this.send = resolve));

  async *[Symbol.asyncIterator](): AsyncGenerator<JsonObject> {
    yield await this.#message;
  }
}
