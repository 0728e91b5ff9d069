import { expect } from 'chai';
import { type EmbeddedStore, openStore } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext } from 'kedge/server';
import { FakeClock, MemoryEngine } from 'kedge/testing';
import type { LogLine, LogRequest } from '../agent/index.js';
import { ConnectedAgents } from '../agent-requests/index.js';
import { instances } from '../instance/kind.js';
import { services } from '../service/kind.js';
import { PlayedRuntime } from '../testing/played-runtime.js';
import { logVerbs } from './verbs.js';

/** Has three lines of each workload, whose times alternate. Followed logs end as well. */
class AlternatingRuntime extends PlayedRuntime {
  readonly #ids: string[] = [];
  /** The index of the workload whose log can't be read. */
  broken = -1;

  override readPrevious(id: string): Promise<AsyncIterable<LogLine> | undefined> {
    const { signal } = new AbortController();
    return Promise.resolve(this.readLog(id, { tail: 0, follow: false, signal }));
  }

  override async *readLog(id: string, { after, tail }: LogRequest): AsyncGenerator<LogLine> {
    if (!this.#ids.includes(id)) this.#ids.push(id);
    const index = this.#ids.indexOf(id);
    const [read = tail > 0 ? 3 - tail : 0] = after ?? [];
    for (let n = read + 1; n <= 3; n += 1) {
      await Promise.resolve();
      if (index === this.broken) throw new Error('the disk is broken');
      const time = n === 2 ? {} : { time: `2026-01-01T00:00:0${n}.${index}00Z` };
      yield { content: `${'abcd'[index]}${n}`, cursor: [n], ...time };
    }
  }
}

describe('the output of several instances of a service', () => {
  let store: EmbeddedStore;
  let runtime: AlternatingRuntime;

  beforeEach(async () => {
    runtime = new AlternatingRuntime();
    store = await openStore({ engine: new MemoryEngine() });
    const template = { runtime: 'process' as const, command: ['true'] };
    await store.create(services, { namespace: 'default', name: 'web', scale: 3, ...template });
    for (const ordinal of [0, 1, 2]) {
      const key = { namespace: 'default', name: `web-${ordinal}` };
      await store.create(instances, { ...key, service: 'web', ordinal, template });
    }
  });
  afterEach(() => store.close());

  function answers(request: JsonObject): AsyncIterable<JsonObject> {
    const parts = { store, clock: new FakeClock() } as unknown as ApiParts;
    const options = { runtimes: [runtime], agents: new ConnectedAgents(parts) };
    const [method] = logVerbs(parts, options);
    if (method?.handler.type !== 'stream') throw new Error('LogService.Get is a stream');
    const context = { signal: new AbortController().signal } as CallContext;
    return method.handler.call(context, { namespace: 'default', name: 'web', ...request });
  }
  /** All answers, to a reader that takes several turns of the event loop for each. */
  async function read(request: JsonObject): Promise<JsonObject[]> {
    const found: JsonObject[] = [];
    for await (const line of answers(request)) {
      found.push(line);
      await new Promise((resolve) => setImmediate(resolve));
    }
    return found;
  }
  const contents = (lines: readonly JsonObject[]): unknown[] => lines.map(({ content }) => content);

  it('is in the order of the times; a line without a time follows the line before it', async () => {
    const lines = await read({});
    expect(lines.map(({ instance, content }) => [instance, content].join(' '))).to.deep.equal([
      ...['web-0 a1', 'web-0 a2', 'web-1 b1', 'web-1 b2', 'web-2 c1', 'web-2 c2'],
      ...['web-0 a3', 'web-1 b3', 'web-2 c3'],
    ]);
  });

  it('of the previous runs is in the order of the times too, and complete except for one that can not be read', async () => {
    const inOrder = ['a1', 'a2', 'b1', 'b2', 'c1', 'c2', 'a3', 'b3', 'c3'];
    expect(contents(await read({ previous: true }))).to.deep.equal(inOrder);
    expect(contents(await read({ previous: true, tail: 1 }))).to.deep.equal(['a3', 'b3', 'c3']);
    runtime.broken = 1;
    const found: unknown[] = [];
    let failure: unknown;
    try {
      for await (const { content } of answers({ previous: true })) found.push(content);
    } catch (error) {
      failure = error;
    }
    expect(found).to.deep.equal(['a1', 'a2', 'c1', 'c2', 'a3', 'c3']);
    expect(String(failure)).to.contain('the disk is broken');
  });

  it('that is followed by a slow reader has lines of all instances', async () => {
    const lines = await read({ follow: true });
    expect(contents(lines)).to.have.members(['a1', 'a2', 'a3', 'b1', 'b2', 'b3', 'c1', 'c2', 'c3']);
    expect(contents(lines.slice(0, 3))).to.have.members(['a1', 'b1', 'c1']);
  });

  for (const follow of [false, true])
    it(`is resumed after each line without a gap or a repetition ${follow ? 'with' : 'without'} follow`, async () => {
      const lines = await read({ follow });
      expect(lines).to.have.length(9);
      for (const [at, { position = '' }] of lines.entries()) {
        const rest = contents(await read({ follow, after: position }));
        expect(rest, `after line ${at}`).to.have.members(contents(lines.slice(at + 1)));
      }
    });

  it('that is resumed has all lines of an instance that was replaced meanwhile, also after the last lines only', async () => {
    const lines = await read({ follow: true, tail: 1 });
    expect(contents(lines)).to.have.members(['a3', 'b3', 'c3']);
    const [{ position = '' } = {}] = lines.filter(({ content }) => content === 'b3');
    const seen = contents(lines.slice(0, contents(lines).indexOf('b3') + 1));
    const key = { namespace: 'default', name: 'web-1' };
    const template = { runtime: 'process' as const, command: ['true'] };
    await store.deleteByName(instances, key);
    await store.create(instances, { ...key, service: 'web', ordinal: 1, template });
    const rest = contents(await read({ follow: true, tail: 1, after: position }));
    const others = ['a3', 'c3'].filter((content) => !seen.includes(content));
    expect(rest).to.have.members([...others, 'd1', 'd2', 'd3']);
  });

  it('of an instance without a line before the position begins with its last lines', async () => {
    const [first] = await read({ follow: true, tail: 1 });
    const rest = contents(await read({ follow: true, tail: 1, after: first?.position ?? '' }));
    expect([first?.content, ...rest]).to.have.members(['a3', 'b3', 'c3']);
  });

  it('is complete except for one that can not be read, whose error comes last', async () => {
    runtime.broken = 1;
    const found: unknown[] = [];
    let failure: unknown;
    try {
      for await (const { content } of answers({})) found.push(content);
    } catch (error) {
      failure = error;
    }
    expect(found).to.deep.equal(['a1', 'a2', 'c1', 'c2', 'a3', 'c3']);
    expect(String(failure)).to.contain('the disk is broken');
  });
});
