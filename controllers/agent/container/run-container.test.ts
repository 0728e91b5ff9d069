import { expect } from 'chai';
import type { JsonObject } from 'kedge/rpc';
import { limitsLabel } from './limits/changed-limits.js';
import { limitSettings } from './limits/container-limits.js';
import type { EngineContainers } from './engine/engine-containers.js';
import { limitsIn } from './engine/engine-limits.js';
import { RunContainer } from './run-container.js';

describe('the sources of the mounts of a container', () => {
  it('are checked before each step in which the engine resolves them', async () => {
    const steps: string[] = [];
    const step = <T>(name: string, value: T): Promise<T> => {
      steps.push(name);
      return Promise.resolve(value);
    };
    const containers = {
      inspect: () => Promise.resolve(undefined),
      create: () => step('create', 'id'),
      start: () => step('start', undefined),
    } as unknown as EngineContainers;
    const { signal } = new AbortController();
    const check = (): Promise<void> => step('check', undefined);
    const run = { cluster: 'c', id: 'u', run: 1 };
    await new RunContainer({ containers, signal }).start(run, { Labels: {} }, [], check);
    expect(steps).to.deep.equal(['check', 'create', 'check', 'start']);
  });
});

describe('a container of a service with strict resources', () => {
  const id = 'e'.repeat(64);
  const limits = { memoryBytes: 2 ** 26, pids: 50 };
  const settings = limitSettings(limits);
  let labels: Readonly<Record<string, string>>;
  let calls: string[];

  /** An engine whose kernel lacks some limits, and that creates containers without them. */
  function containersWithout(dropped: JsonObject): EngineContainers {
    const found = { id, name: 'kedge', labels, limits: limitsIn({ ...settings, ...dropped }) };
    return {
      inspect: (name: string) => Promise.resolve(name === id ? found : undefined),
      create: () => Promise.resolve(id),
      start: () => Promise.resolve(void calls.push('start')),
      remove: () => Promise.resolve(void calls.push('remove')),
    } as unknown as EngineContainers;
  }
  const started = (dropped: JsonObject, strict: boolean): Promise<string> =>
    new RunContainer({
      containers: containersWithout(dropped),
      signal: new AbortController().signal,
    })
      .start(
        { cluster: 'c', id: 'u', run: 1 },
        { Labels: labels },
        [],
        () => Promise.resolve(),
        strict,
      )
      .then(() => '', String);
  beforeEach(() => {
    labels = limitsLabel(settings, limits);
    calls = [];
  });

  it('is not started, and is removed, where the engine dropped a limit', async () => {
    expect(await started({ Memory: 0, MemorySwap: -1, PidsLimit: 0 }, true)).to.equal(
      'Error: the container engine does not enforce memory, pids, and resources.strict requires it; choose a node whose kernel has these limits, or remove strict',
    );
    expect(calls).to.deep.equal(['remove']);
  });

  it('is started where the engine dropped only the default limit of processes', async () => {
    labels = limitsLabel(settings, { memoryBytes: limits.memoryBytes });
    expect(await started({ PidsLimit: 0 }, true)).to.equal('');
    expect(await started({ PidsLimit: 0, Memory: 0 }, true)).to.contain('not enforce memory, and');
    expect(calls).to.deep.equal(['start', 'remove']);
  });

  it('is started where the engine has all limits, or lacks only that of swap, and in any case without strict', async () => {
    for (const [dropped, strict] of [
      [{}, true],
      [{ MemorySwap: -1 }, true],
      [{ Memory: 0 }, false],
    ] as const)
      expect(await started(dropped, strict)).to.equal('');
    expect(calls).to.deep.equal(['start', 'start', 'start']);
  });
});
