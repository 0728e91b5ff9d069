import { expect } from 'chai';
import { GuardedStream } from './guarded-stream.js';

describe('a guarded stream', () => {
  let end: AbortController;
  let log: string[];

  beforeEach(() => {
    end = new AbortController();
    log = [];
  });

  function streamOf(source: () => AsyncGenerator<number>): GuardedStream<number> {
    return new GuardedStream<number>({
      open: () => {
        log.push('open');
        return Promise.resolve({
          source: source(),
          end: {
            signal: end.signal,
            get isDue() {
              return end.signal.aborted;
            },
          },
        });
      },
      close: (failure) => void log.push(`close ${(failure as Error | undefined)?.message ?? ''}`),
    });
  }
  async function* numbers(): AsyncGenerator<number> {
    try {
      for (let n = 1; n <= 3; n += 1) yield await Promise.resolve(n);
    } finally {
      log.push('source over');
    }
  }
  async function read(stream: AsyncIterable<number>): Promise<string> {
    try {
      for await (const value of stream) log.push(String(value));
      return 'ended';
    } catch (error) {
      return String(error);
    }
  }

  it('has the values of its source, and closes once', async () => {
    const stream = streamOf(numbers);
    expect(await read(stream)).to.equal('ended');
    expect(log).to.deep.equal(['open', '1', '2', '3', 'source over', 'close ']);
    expect(await stream.next()).to.deep.equal({ done: true, value: undefined });
    await stream.return();
    expect(log).to.have.lengthOf(6);
  });

  it('opens nothing before a value is asked for', async () => {
    await streamOf(numbers).return();
    expect(log).to.deep.equal([]);
  });

  it('closes with the failure of its source, or of its opening', async () => {
    const failing = async function* (): AsyncGenerator<number> {
      yield await Promise.resolve(1);
      throw new Error('broken');
    };
    expect(await read(streamOf(failing))).to.equal('Error: broken');
    expect(log).to.deep.equal(['open', '1', 'close broken']);
    const refused = new GuardedStream<number>({
      open: () => Promise.reject(new Error('no right')),
      close: (failure) => void log.push((failure as Error).message),
    });
    expect(await read(refused)).to.equal('Error: no right');
    expect(log.at(-1)).to.equal('no right');
  });

  it('waits for its source when the consumer leaves, and then closes', async () => {
    for await (const value of streamOf(numbers)) {
      log.push(String(value));
      break;
    }
    expect(log).to.deep.equal(['open', '1', 'source over', 'close ']);
  });

  it('ends with the reason of its signal while the source waits forever', async () => {
    const stuck = async function* (): AsyncGenerator<number> {
      yield await Promise.resolve(1);
      await new Promise(() => undefined);
    };
    const reading = read(streamOf(stuck));
    for (let n = 0; n < 20; n += 1) await Promise.resolve();
    end.abort(new Error('revoked'));
    expect(await reading).to.equal('Error: revoked');
    expect(log).to.deep.equal(['open', '1', 'close revoked']);
  });

  it('passes no value on after its signal, although its source has more', async () => {
    const stream = streamOf(numbers);
    expect((await stream.next()).value).to.equal(1);
    end.abort(new Error('revoked'));
    expect(await stream.next().catch(String)).to.equal('Error: revoked');
    expect(log).to.include('close revoked');
    expect(await stream.next()).to.deep.equal({ done: true, value: undefined });
  });

  it('frees its source at once when its signal ends it, also if the consumer requests no value', async () => {
    const stream = streamOf(numbers);
    await stream.next();
    end.abort(new Error('revoked'));
    await Promise.resolve();
    expect(log.slice(1).toSorted()).to.deep.equal(['close revoked', 'source over']);
    expect(await stream.next().catch(String)).to.equal('Error: revoked');
    expect(await stream.next()).to.deep.equal({ done: true, value: undefined });
  });

  it('closes what it opens for a consumer that has left meanwhile', async () => {
    for (const failure of [undefined, new Error('no right')]) {
      let settle: () => void = () => undefined;
      const opened = new Promise<void>((resolve, reject) => {
        settle = () => (failure ? reject(failure) : resolve());
      });
      const opening = new GuardedStream<number>({
        open: async () => {
          await opened;
          return {
            source: numbers(),
            end: {
              signal: end.signal,
              get isDue() {
                return end.signal.aborted;
              },
            },
          };
        },
        close: (thrown) => void log.push(`close ${(thrown as Error | undefined)?.message ?? ''}`),
      });
      const first = opening.next().catch(String);
      await opening.return();
      settle();
      await first;
    }
    expect(log).to.deep.equal(['close ', 'close no right']);
  });
});
