import { Buffer } from 'node:buffer';
import type { Readable } from 'node:stream';
import { expect } from 'chai';
import { type EmbeddedStore, openStore, StatusError } from 'kedge';
import type { JsonObject } from 'kedge/rpc';
import type { ApiParts, CallContext } from 'kedge/server';
import { eventually, FakeClock, MemoryEngine } from 'kedge/testing';
import type { NodeImages } from '../agent/index.js';
import { ConnectedAgents } from '../agent-requests/index.js';
import { imageVerbs } from './verbs.js';

const bounds = { tarBytesMax: 10, idleMs: 120_000 };

/** Messages that a test sends one by one. */
class Messages implements AsyncIterable<JsonObject> {
  readonly #sent: JsonObject[] = [];
  #wake: () => void = () => undefined;
  #isEnded = false;

  send(message: JsonObject): void {
    this.#sent.push(message);
    this.#wake();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<JsonObject> {
    for (;;) {
      const next = this.#sent.shift();
      if (next) yield next;
      else if (this.#isEnded) return;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** A load in progress. */
interface Load {
  readonly messages: Messages;
  readonly leave: () => void;
  /** The last answer, or the error. */
  readonly end: Promise<JsonObject | StatusError>;
}

describe('the bounds of the loads of images', () => {
  let store: EmbeddedStore;
  let clock: FakeClock;
  let load: (request?: JsonObject) => Load;
  let begun: number;
  let readBytes: number;
  let refusal: Error | undefined;

  beforeEach(async () => {
    store = await openStore({ engine: new MemoryEngine() });
    clock = new FakeClock();
    begun = 0;
    readBytes = 0;
    refusal = undefined;
    const images = {
      node: 'here',
      async load(tar: Readable, _: unknown, signal: AbortSignal): Promise<readonly string[]> {
        begun += 1;
        if (refusal) throw refusal;
        const left = new Promise<never>((_, reject) =>
          signal.addEventListener('abort', () => reject(new Error('the caller left'))),
        );
        const read = (async () => {
          for await (const piece of tar) readBytes += (piece as Buffer).length;
          return ['image:1'];
        })();
        return Promise.race([read, left]);
      },
    } as unknown as NodeImages;
    const parts = { store, clock } as unknown as ApiParts;
    const agents = new ConnectedAgents(parts);
    const method = imageVerbs(parts, { images, agents, uploadBounds: bounds }).find(
      ({ id }) => id === 'ImageService.Load',
    );
    const handler = method?.handler;
    if (handler?.type !== 'bidi') throw new Error('ImageService.Load is bidirectional');
    load = (request = {}) => {
      const messages = new Messages();
      const left = new AbortController();
      const context = { signal: left.signal } as CallContext;
      const answers = handler.call(context, request, messages);
      const end = (async () => {
        let last: JsonObject = {};
        try {
          for await (const answer of answers) last = answer;
          return last;
        } catch (error) {
          return StatusError.from(error);
        }
      })();
      return { messages, leave: () => left.abort(), end };
    };
  });
  afterEach(() => store.close());

  const piece = (bytes: number): JsonObject => ({ data: Buffer.alloc(bytes).toString('base64') });

  /** Starts two loads, and waits until the engine reads them. */
  async function running(): Promise<readonly Load[]> {
    const loads = [load(), load()];
    const before = begun;
    await eventually('two loads', () => begun === before + 2);
    return loads;
  }

  const endings: Readonly<Record<string, (each: Load) => unknown>> = {
    'its end': ({ messages }) => messages.end(),
    'an archive that is too large': ({ messages }) => messages.send(piece(11)),
    'a second opening message': ({ messages }) => messages.send({ start: {} }),
    'its caller': (each) => each.leave(),
    'the idle limit': () => clock.advance(bounds.idleMs),
  };

  for (const [how, end] of Object.entries(endings))
    it(`are two at a time, and ${how} admits another one`, async () => {
      const [first, second] = await running();
      const third = await load().end;
      expect(third).to.include({ code: 'ResourceExhausted', reason: 'TooManyLoads' });
      expect(third).to.have.property('retryAfterMs', 10_000);
      expect(begun, 'the refused one').to.equal(2);
      if (!first || !second) throw new Error('two loads run');
      await end(first);
      await first.end;
      const next = load();
      next.messages.end();
      expect(await next.end).to.deep.equal({ loaded: { images: ['image:1'] } });
      second.leave();
      await second.end;
    });

  it('are not used up by loads that the engine refuses, nor by those for an unknown node', async () => {
    refusal = new Error('no space left');
    for (let round = 0; round < 3; round += 1) {
      expect(await load().end).to.be.instanceOf(StatusError);
      expect(await load({ node: 'unknown' }).end).to.include({ code: 'NotFound' });
    }
    refusal = undefined;
    const loads = await running();
    for (const each of loads) each.messages.end();
    for (const each of loads)
      expect(await each.end).to.deep.equal({ loaded: { images: ['image:1'] } });
  });

  it('are the total of all pieces, which may be exactly the maximum', async () => {
    const fits = load();
    for (const bytes of [6, 4]) fits.messages.send(piece(bytes));
    fits.messages.end();
    expect(await fits.end).to.deep.equal({ loaded: { images: ['image:1'] } });
    const exceeds = load();
    for (const bytes of [6, 5]) exceeds.messages.send(piece(bytes));
    const error = await exceeds.end;
    expect(error).to.include({ code: 'InvalidArgument' });
    expect(JSON.stringify(error)).to.contain('is more than 10 bytes in total');
  });

  it('are the time without data: each piece starts it again', async () => {
    const [first, second] = await running();
    if (!first || !second) throw new Error('two loads run');
    await clock.advance(bounds.idleMs - 1);
    first.messages.send(piece(1));
    await eventually('the piece to arrive', () => readBytes === 1);
    await clock.advance(1);
    const error = await second.end;
    expect(error).to.include({ code: 'DeadlineExceeded', reason: 'RequestTimeout' });
    expect(error)
      .to.have.property('message')
      .that.contains('no data of the tar archive arrived for 120 s');
    first.messages.end();
    expect(await first.end).to.deep.equal({ loaded: { images: ['image:1'] } });
  });
});
