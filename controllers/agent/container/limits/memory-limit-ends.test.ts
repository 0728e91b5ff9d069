import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { FakeEngine } from '../../../testing/fake-engine.js';
import { ContainerRecords } from '../container-records.js';
import { EngineClient } from '../engine/engine-client.js';
import type { ContainerInspection } from '../engine/engine-containers.js';
import { limitsIn } from '../engine/engine-limits.js';
import { MemoryLimitEnds } from './memory-limit-ends.js';

describe('an end of a container at its memory limit', () => {
  const { signal } = new AbortController();
  const run = { id: randomUUID(), run: 3 };
  const killed = {
    ...{ id: 'e'.repeat(64), exitCode: 137, outOfMemory: false },
    ...{ startedAt: 1_700_000_000_000, finishedAt: 1_700_000_009_500 },
    limits: limitsIn({ Memory: 2 ** 25 }),
  } as unknown as ContainerInspection;
  let directory: string;
  let engine: FakeEngine;
  let ends: MemoryLimitEnds;
  const open = (): MemoryLimitEnds =>
    new MemoryLimitEnds(
      new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
      new ContainerRecords(directory),
      systemClock,
    );

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-memory-'));
    engine = await FakeEngine.start();
    ends = open();
  });
  afterEach(async () => {
    await engine.stop();
    await rm(directory, { recursive: true });
  });

  it('is known by the event that the engine sends after the end, also once the engine has lost it', async () => {
    const queries: URLSearchParams[] = [];
    engine.answer = ({ url = '' }, response) => {
      queries.push(new URL(url, 'http://engine').searchParams);
      response.writeHead(200).flushHeaders();
      if (queries.length > 1) response.end();
      else response.write(`{"Type":"container","Action":"oom","Actor":{"ID":"${killed.id}"}}\n`);
    };
    expect(await ends.include(run, killed, signal)).to.equal(true);
    const [query] = queries;
    expect([query?.get('since'), query?.get('until')]).to.deep.equal([
      '1700000000.000',
      '1700000010.500',
    ]);
    expect(JSON.parse(query?.get('filters') ?? '')).to.deep.equal({
      ...{ type: ['container'], container: [killed.id], event: ['oom'] },
    });
    expect(await open().include(run, killed, signal)).to.equal(true);
    expect(queries).to.have.length(1);
    expect(await ends.include({ ...run, run: 4 }, killed, signal)).to.equal(false);
  });

  it('waits for the event until the engine ends its answer', async () => {
    let end: (() => void) | undefined;
    engine.answer = (_request, response) => {
      response.writeHead(200).flushHeaders();
      end = () => response.end();
    };
    let answer: boolean | undefined;
    const asked = ends.include(run, killed, signal).then((found) => (answer = found));
    await eventually('the query', () => end !== undefined);
    expect(answer).to.equal(undefined);
    end?.();
    expect(await asked).to.equal(false);
  });

  it('is not looked up without a limit, for another exit code, or where the engine reports it', async () => {
    const withoutLimit = { ...killed, limits: limitsIn({}) };
    expect(await ends.include(run, withoutLimit, signal)).to.equal(false);
    expect(await ends.include(run, { ...killed, exitCode: 1 }, signal)).to.equal(false);
    expect(await ends.include(run, { ...killed, outOfMemory: true }, signal)).to.equal(true);
    expect(engine.calls).to.deep.equal([]);
  });
});
