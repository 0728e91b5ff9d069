import { expect } from 'chai';
import type { Availability, LogLine } from '../agent/index.js';
import { PlayedRuntime } from '../testing/played-runtime.js';
import { localLog, localPrevious } from './local-log.js';

/** A runtime whose engine is unavailable, before or while a log is read. */
class UnavailableRuntime extends PlayedRuntime {
  readonly #opens: boolean;

  constructor(opens: boolean) {
    super();
    this.#opens = opens;
  }

  override availability(): Promise<Availability> {
    return Promise.resolve({ available: false, message: 'no engine; start the engine' });
  }

  override async *readLog(): AsyncGenerator<LogLine> {
    yield await Promise.resolve({ content: 'first', cursor: [1] });
    throw new Error('the connection broke');
  }

  override async readPrevious(): Promise<AsyncIterable<LogLine> | undefined> {
    if (this.#opens) return this.readLog();
    return Promise.reject(new Error('no connection'));
  }
}

const target = {
  uid: 'u',
  runtime: 'process',
  status: 'Running' as const,
  namespace: 'default',
  name: 'web-0',
};

async function linesUntilFailure(
  open: () => Promise<AsyncIterable<LogLine> | undefined>,
): Promise<{ readonly lines: readonly string[]; readonly failure: unknown }> {
  const lines: string[] = [];
  try {
    for await (const { content } of (await open()) ?? []) lines.push(content);
    return { lines, failure: undefined };
  } catch (failure) {
    return { lines, failure };
  }
}

describe('a log of this node whose runtime is unavailable', () => {
  const { signal } = new AbortController();
  const request = { tail: 0, follow: false, signal };
  const cases = {
    'of the current run': {
      open: (runtime: PlayedRuntime) => Promise.resolve(localLog([runtime], target, request)),
      opens: true,
    },
    'of the previous run, while it is read': {
      open: (runtime: PlayedRuntime) => localPrevious([runtime], target),
      opens: true,
    },
    'of the previous run, before it is read': {
      open: (runtime: PlayedRuntime) => localPrevious([runtime], target),
      opens: false,
    },
  };
  for (const [what, { open, opens }] of Object.entries(cases))
    it(`${what}, fails with the cause and the remedy`, async () => {
      const runtime = new UnavailableRuntime(opens);
      const { lines, failure } = await linesUntilFailure(() => open(runtime));
      expect(lines).to.deep.equal(opens ? ['first'] : []);
      expect(failure).to.include({ code: 'FailedPrecondition', reason: 'RuntimeUnavailable' });
      expect(String(failure)).to.contain(
        `the log of "default/web-0" can't be read: no engine; start the engine`,
      );
    });
});
