import { expect } from 'chai';
import {
  type AwaitOptions,
  awaitOperation,
  type Observed,
  type OperationState,
} from './await-operation.js';
import { DriverError } from '../errors/errors.js';
import {
  memoryOperations,
  operationIdOf,
  type OperationKind,
  type Operations,
} from '../contract/operations.js';

/** A provider of one resource, which creates a second one for each start with an unknown key. */
class Provider {
  readonly keys: string[] = [];
  readonly states = new Map<string, OperationState>();
  observations = 0;
  made = 0;
  underWay = 0;
  /** Replays the operation of a key that it has seen. */
  remembersKeys = true;
  /** The answer of the next start is lost. */
  losesAnswer = false;
  readonly #ids = new Map<string, string>();
  #begun = 0;

  observe(): Promise<Observed<string>> {
    this.observations += 1;
    if (this.made > 0) return Promise.resolve({ type: 'done', result: 'thing' });
    return Promise.resolve({ type: this.underWay > 0 ? 'underWay' : 'absent' });
  }

  start(key: string): Promise<string> {
    this.keys.push(key);
    const known = this.#ids.get(key);
    const id = (this.remembersKeys ? known : undefined) ?? `op-${(this.#begun += 1)}`;
    if (id !== known) {
      this.underWay += 1;
      this.states.set(id, { type: 'running' });
    }
    this.#ids.set(key, id);
    if (!this.losesAnswer) return Promise.resolve(id);
    this.losesAnswer = false;
    return Promise.reject(new DriverError('Unavailable', 'the answer was lost'));
  }

  state(id: string): Promise<OperationState> {
    return Promise.resolve(this.states.get(id) ?? { type: 'unknown' });
  }

  end(id: string): void {
    if (this.states.has(id)) this.states.set(id, { type: 'ended' });
    this.underWay -= 1;
    this.made += 1;
  }

  fail(id: string): void {
    this.states.set(id, { type: 'failed', error: new DriverError('Internal', 'no space') });
    this.underWay -= 1;
  }
}

describe('an operation of a provider as a driver call', () => {
  let provider: Provider;
  let operations: Operations;
  const { signal } = new AbortController();
  const waits: number[] = [];

  beforeEach(() => {
    provider = new Provider();
    operations = memoryOperations();
    waits.length = 0;
  });

  const call = (options: AwaitOptions = {}, kind: OperationKind = 'provision'): Promise<unknown> =>
    awaitOperation({ operations, signal }, kind, provider, {
      wait: (ms) => {
        waits.push(ms);
        return Promise.resolve();
      },
      ...options,
    });
  const refused = async (promise: Promise<unknown>): Promise<string> =>
    promise.then(
      () => 'no error',
      (error: unknown) => `${(error as DriverError).kind}: ${(error as DriverError).message}`,
    );
  const pending = { type: 'pending', pollAfterMs: 5_000 };

  it('answers pending after at most two seconds of waiting, and the next call starts nothing', async () => {
    expect(await call()).to.deep.equal(pending);
    expect(waits.reduce((sum, ms) => sum + ms, 0)).to.be.within(1_000, 2_000);
    expect(await call()).to.deep.equal(pending);
    provider.end('op-1');
    expect(await call()).to.equal('thing');
    expect(provider.keys).to.have.length(1);
    expect(await operations.get('provision')).to.equal(undefined);
  });

  it('an existing result is returned without a start, and writes nothing', async () => {
    provider.made = 1;
    operations.set = () => Promise.reject(new Error('written'));
    expect(await call()).to.equal('thing');
    expect(provider.keys).to.deep.equal([]);
  });

  it('the key is durable before the start, and the id before its first poll', async () => {
    const seen: (string | undefined)[] = [];
    const start = provider.start.bind(provider);
    const state = provider.state.bind(provider);
    provider.start = async (key) => {
      seen.push(await operations.get('provision'));
      return start(key);
    };
    provider.state = async (id) => {
      seen.push(operationIdOf(await operations.get('provision')));
      return state(id);
    };
    await call();
    expect(seen.slice(0, 2)).to.deep.equal([provider.keys[0], 'op-1']);
  });

  for (const remembersKeys of [true, false])
    it(`a start whose answer was lost creates one resource, by a provider that ${remembersKeys ? 'remembers' : 'forgets'} keys`, async () => {
      provider.remembersKeys = remembersKeys;
      provider.losesAnswer = true;
      expect(await refused(call())).to.equal('Unavailable: the answer was lost');
      expect(await call()).to.deep.equal(pending);
      provider.end('op-1');
      expect(await call()).to.equal('thing');
      expect(provider.states.size).to.equal(1);
    });

  it('if the provider forgot an id after the work was done, the result is found by identity, and created once', async () => {
    await call();
    provider.states.clear();
    provider.end('op-1');
    expect(await call()).to.equal('thing');
    expect(provider.keys).to.have.length(1);
  });

  it('the result of a running operation whose id was forgotten is awaited, and made once', async () => {
    await call();
    provider.states.clear();
    expect(await call()).to.deep.equal(pending);
    provider.end('op-1');
    expect(await call()).to.equal('thing');
    expect(provider.keys).to.have.length(1);
  });

  it('an operation whose id was forgotten and that has no result is started again with the same key', async () => {
    await call();
    provider.states.clear();
    provider.remembersKeys = false;
    provider.underWay = 0;
    await call();
    expect(new Set(provider.keys).size).to.equal(1);
    expect(provider.keys).to.have.length(2);
  });

  it('an id that the provider forgot and returns again is not polled forever: the next call has another key', async () => {
    await call();
    provider.states.clear();
    provider.underWay = 0;
    expect(await refused(call())).to.contain('returned its id again');
    expect(await call()).to.deep.equal(pending);
    expect(new Set(provider.keys).size).to.equal(2);
  });

  it('a late failure is thrown once, and the next call has another key', async () => {
    await call();
    provider.fail('op-1');
    expect(await refused(call())).to.equal('Internal: no space');
    expect(await call()).to.deep.equal(pending);
    expect(new Set(provider.keys).size).to.equal(2);
    provider.end('op-2');
    expect(await call()).to.equal('thing');
  });

  it('an operation that has ended without its result is started again with another key', async () => {
    await call();
    provider.end('op-1');
    provider.made = 0;
    expect(await refused(call())).to.contain('operation op-1 has ended');
    expect(await call()).to.deep.equal(pending);
    expect(new Set(provider.keys).size).to.equal(2);
  });

  it('the id is kept if the outcome can not be observed', async () => {
    await call();
    const state = provider.state.bind(provider);
    provider.state = () => Promise.reject(new DriverError('Timeout', 'no right to observe'));
    expect(await refused(call())).to.equal('Timeout: no right to observe');
    expect(operationIdOf(await operations.get('provision'))).to.equal('op-1');
    provider.state = state;
    provider.end('op-1');
    expect(await call()).to.equal('thing');
    expect(provider.keys).to.have.length(1);
  });

  it('waits for the end of the operations that it follows, regardless of their outcome, and removes their records', async () => {
    await call({}, 'attach');
    expect(await call({ after: ['attach'] }, 'detach')).to.deep.equal(pending);
    expect(provider.keys).to.have.length(1);
    provider.fail('op-1');
    expect(await call({ after: ['attach'] }, 'detach')).to.deep.equal(pending);
    expect(provider.keys).to.have.length(2);
    expect(await operations.get('attach')).to.equal(undefined);
  });

  it('is not done before the operations that it follows have ended, even if its result exists already', async () => {
    await call({}, 'attach');
    // The observed attachment does not show an operation that is still in progress.
    provider.observe = () => Promise.resolve({ type: 'done', result: 'nothing is attached' });
    expect(await call({ after: ['attach'] }, 'detach')).to.deep.equal(pending);
    expect(operationIdOf(await operations.get('attach')), 'still followed').to.equal('op-1');
    provider.end('op-1');
    expect(await call({ after: ['attach'] }, 'detach')).to.equal('nothing is attached');
  });

  it('is done when its result exists, even if the provider refuses the poll of the operation', async () => {
    expect(await call()).to.include({ type: 'pending' });
    provider.state = () => Promise.reject(new DriverError('Timeout', 'no right to observe'));
    provider.observe = () => Promise.reject(new DriverError('PermissionDenied', 'nor at this'));
    expect(await refused(call()), 'neither shows it').to.equal(
      'Timeout: no right to observe; its result could not be observed either: nor at this',
    );
    provider.observe = () => Promise.resolve({ type: 'done', result: 'thing' });
    expect(await call()).to.equal('thing');
    expect(await operations.get('provision')).to.equal(undefined);
    expect(provider.keys).to.have.length(1);
  });

  it('fails with the error of a poll that failed for another reason, even if its result exists, and keeps the id', async () => {
    expect(await call()).to.include({ type: 'pending' });
    provider.state = () => Promise.reject(new DriverError('Unavailable', 'no route'));
    provider.observe = () => Promise.resolve({ type: 'done', result: 'thing' });
    expect(await refused(call())).to.equal('Unavailable: no route');
    expect(operationIdOf(await operations.get('provision'))).to.equal('op-1');
  });

  it('a call that is cancelled while it waits throws Timeout and keeps the id', async () => {
    const abort = new AbortController();
    const running = awaitOperation({ operations, signal: abort.signal }, 'provision', provider);
    abort.abort();
    expect(await refused(running)).to.contain('Timeout');
    expect(operationIdOf(await operations.get('provision'))).to.equal('op-1');
  });

  const refusing = (kind: DriverError['kind']): void => {
    provider.start = (key) => {
      provider.keys.push(key);
      return Promise.reject(new DriverError(kind, 'no'));
    };
  };

  for (const kind of ['delete', 'deleteSnapshot'] as const)
    it(`${kind}: a refused start leaves no record, also after one without an answer`, async () => {
      for (const refusal of [
        'PermissionDenied',
        'CredentialsRejected',
        'InvalidParameters',
        'InUse',
      ] as const) {
        refusing('Timeout');
        expect(await refused(call({}, kind))).to.equal('Timeout: no');
        expect(await operations.get(kind)).to.equal(provider.keys.at(-1));
        refusing(refusal);
        expect(await refused(call({}, kind))).to.equal(`${refusal}: no`);
        expect(await operations.get(kind), refusal).to.equal(undefined);
      }
    });

  for (const kind of ['delete', 'deleteSnapshot'] as const)
    it(`${kind}: a rate limit leaves no record of a first start, and keeps that of one without an answer`, async () => {
      refusing('Throttled');
      await refused(call({}, kind));
      expect(await operations.get(kind), 'the first').to.equal(undefined);
      for (const unknown of ['Timeout', 'Unavailable', 'Internal'] as const) {
        refusing(unknown);
        await refused(call({}, kind));
        const key = provider.keys.at(-1);
        refusing('Throttled');
        await refused(call({}, kind));
        await refused(call({}, kind));
        expect(await operations.get(kind), unknown).to.equal(key);
        expect(provider.keys.at(-1), 'the same key').to.equal(key);
      }
    });

  for (const kind of ['attach', 'detach'] as const)
    it(`${kind}: a refused start leaves no record, and keeps that of one without an answer`, async () => {
      for (const refusal of ['PermissionDenied', 'QuotaExceeded', 'Throttled'] as const) {
        refusing(refusal);
        expect(await refused(call({}, kind))).to.equal(`${refusal}: no`);
        expect(await operations.get(kind), refusal).to.equal(undefined);
        refusing('Timeout');
        await refused(call({}, kind));
        const key = provider.keys.at(-1);
        refusing(refusal);
        await refused(call({}, kind));
        expect(await operations.get(kind), refusal).to.equal(key);
        await operations.clear(kind);
      }
    });

  it('the key of a creation is kept after a refusal: one without an answer may still create it', async () => {
    refusing('Timeout');
    await refused(call());
    refusing('PermissionDenied');
    await refused(call());
    expect(await operations.get('provision')).to.equal(provider.keys[0]);
    expect(new Set(provider.keys)).to.have.property('size', 1);
  });
});
