import { expect } from 'chai';
import { openStore } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext } from 'kedge/server';
import { eventually, FakeClock, MemoryEngine } from 'kedge/testing';
import type { ExecExit, ExecOutput, ExecProcess, Runtime } from '../agent/index.js';
import { answersTo } from '../agent-requests/answers.js';
import { CommandInput } from '../agent-requests/command-input.js';
import { ConnectedAgents } from '../agent-requests/index.js';
import { instances } from '../instance/kind.js';
import { PlayedRuntime } from '../testing/played-runtime.js';
import { execVerbs } from './verbs.js';

/** A command that reads no input until it is told to, and ends with the first signal. */
class BusyCommand implements ExecProcess {
  readonly output: AsyncIterable<ExecOutput>;
  readonly exited: Promise<ExecExit>;
  /** What was written, and the end of the input. */
  readonly received: string[] = [];
  /** Lets the command read its input. */
  read: () => void = () => undefined;
  #end: (exit: ExecExit) => void = () => undefined;
  readonly #reads = new Promise<void>((resolve) => (this.read = resolve));

  constructor() {
    this.exited = new Promise((resolve) => (this.#end = resolve));
    const { exited } = this;
    this.output = (async function* (): AsyncGenerator<ExecOutput> {
      await exited;
    })();
  }

  write(data: Buffer): Promise<void> {
    this.received.push(data.toString());
    return Promise.race([this.#reads, this.exited.then(() => undefined)]);
  }
  closeInput(): void {
    this.received.push('end');
  }
  resize(): Promise<void> {
    return Promise.resolve();
  }
  signal(signal: NodeJS.Signals): Promise<void> {
    this.#end({ code: 130, signal });
    return Promise.resolve();
  }
  kill(): void {
    this.#end({ code: 137, signal: 'SIGKILL' });
  }
}

class BusyRuntime extends PlayedRuntime {
  readonly command = new BusyCommand();

  exec(): Promise<ExecProcess> {
    return Promise.resolve(this.command);
  }
}

describe('the input of a command that does not read it', () => {
  const interrupted = { exit: { code: 130, signal: 'SIGINT' } };

  /** Messages, after which the caller keeps its stream open. */
  async function* messages(...sent: readonly JsonObject[]): AsyncGenerator<JsonObject> {
    yield* sent;
    await new Promise(() => undefined);
  }

  const base64 = (text: string): string => Buffer.from(text).toString('base64');

  it('delays no signal of the caller', async () => {
    const store = await openStore({ engine: new MemoryEngine() });
    const key = { namespace: 'default', name: 'web-0' };
    const template = { runtime: 'process' as const, command: ['true'] };
    const { metadata } = await store.create(instances, {
      ...{ ...key, service: 'web', ordinal: 0, template },
    });
    const runtime = new BusyRuntime();
    runtime.states.set(metadata.uid, { state: 'running', run: 1, pid: 1, startedAt: 1 });
    const parts = { store, clock: new FakeClock() } as unknown as ApiParts;
    const verbs = execVerbs(parts, { runtimes: [runtime], agents: new ConnectedAgents(parts) });
    const handler = verbs.find(({ id }) => id === 'ExecService.Exec')?.handler;
    if (handler?.type !== 'bidi') throw new Error('ExecService.Exec is no stream of both sides');
    const { signal } = new AbortController();
    const context = { signal, identity: { subject: 'ann' } } as unknown as CallContext;
    const further = messages({ stdin: base64('a') }, { stdin: base64('b') }, { signal: 'SIGINT' });
    const answers: JsonObject[] = [];
    for await (const answer of handler.call(context, { ...key, command: ['true'] }, further))
      answers.push(answer);
    expect(answers).to.deep.equal([interrupted]);
    await store.close();
  });

  it('delays no signal that an agent gets', async () => {
    const runtime = new BusyRuntime();
    runtime.states.set('uid', { state: 'running', run: 1, pid: 1, startedAt: 1 });
    const runtimes: readonly Runtime[] = [runtime];
    const input = messages({ data: base64('a') }, { data: base64('b') }, { signal: 'SIGINT' });
    const target = { uid: 'uid', runtime: 'process', namespace: 'default', name: 'web-0' };
    const request = { exec: { target, command: ['true'] } };
    const answers: JsonObject[] = [];
    for await (const answer of answersTo(
      { node: 'far', runtimes, clock: new FakeClock() },
      { request, input, gone: new AbortController() },
    ))
      answers.push(answer);
    expect(answers).to.deep.equal([{ begun: true }, interrupted]);
  });

  it('waits up to a limit, and is passed on in order once the command reads it', async () => {
    const command = new BusyCommand();
    const input = new CommandInput(command);
    const piece = 'x'.repeat(600_000);
    let accepted = 0;
    const writing = (async () => {
      for (const text of ['first', piece, piece, 'last']) {
        await input.write(Buffer.from(text));
        accepted += 1;
      }
      input.close();
    })();
    await eventually('the first pieces', () => accepted === 2);
    for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    expect([accepted, command.received]).to.deep.equal([2, ['first']]);
    command.read();
    await writing;
    await eventually('the end of the input', () => command.received.includes('end'));
    expect(command.received).to.deep.equal(['first', piece, piece, 'last', 'end']);
  });
});
