import { randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { silentLogger } from 'kedge';
import { eventually, FakeClock } from 'kedge/testing';
import { FakeEngine } from '../../../testing/fake-engine.js';
import { ContainerRecords } from '../container-records.js';
import { EngineClient } from '../engine/engine-client.js';
import type { ContainerInspection } from '../engine/engine-containers.js';
import { limitsIn } from '../engine/engine-limits.js';
import { MemoryKills } from './memory-kills.js';
import { MemoryLimitEnds } from './memory-limit-ends.js';

describe('an end of a container at its memory limit', () => {
  const run = { id: randomUUID(), run: 3 };
  const killed = {
    ...{ id: 'e'.repeat(64), exitCode: 137, outOfMemory: false },
    ...{ startedAt: 1_700_000_000_000, finishedAt: 1_700_000_009_500 },
    limits: limitsIn({ Memory: 2 ** 25 }),
  } as unknown as ContainerInspection;
  let directory: string;
  let engine: FakeEngine;
  let clock: FakeClock;
  let closing: AbortController;
  let ends: MemoryLimitEnds;
  /** Ids of the workloads of which the listener was notified. */
  let notified: string[];
  const oom = `{"Type":"container","Action":"oom","Actor":{"ID":"${killed.id}"}}\n`;
  const kernelLog = (): string => join(directory, 'kmsg');
  /** Milliseconds since the start of the kernel. */
  const upMs = 20_000;
  /** Writes a kill of the kernel to its log, some time before the end of the container. */
  const logKill = (beforeEndMs: number): Promise<void> =>
    writeFile(
      kernelLog(),
      `6,1,${(upMs - 500 - beforeEndMs) * 1_000},-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),oom_memcg=/docker/${killed.id},task_memcg=/docker/${killed.id},task=sh,pid=1,uid=0\n`,
    );
  /** The engine sends no event of the past. */
  const noEvents = (): void => {
    engine.answer = (_request, response) => {
      response.writeHead(200).end();
    };
  };
  const open = (): MemoryLimitEnds =>
    new MemoryLimitEnds({
      kills: new MemoryKills({ logger: silentLogger, file: kernelLog(), up: () => upMs }),
      engine: new EngineClient({ socketPath: engine.socketPath, clock }),
      records: new ContainerRecords(directory),
      ...{ clock, logger: silentLogger, signal: closing.signal },
      onKnown: (id) => notified.push(id),
    });

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-memory-'));
    await mkdir(join(directory, run.id));
    engine = await FakeEngine.start();
    // The engine reported the end half a second after it.
    clock = new FakeClock(killed.finishedAt! + 500);
    closing = new AbortController();
    notified = [];
    ends = open();
  });
  afterEach(async () => {
    closing.abort();
    await engine.stop();
    await rm(directory, { recursive: true });
  });

  /** The result once the search has ended. */
  async function result(found = killed, by = ends): Promise<boolean | undefined> {
    expect(await by.include(run, found), 'while it is searched').to.equal(undefined);
    await eventually('the end of the search', () => notified.length > 0);
    expect(notified).to.deep.equal([run.id]);
    return by.include(run, found);
  }

  it('is known by the event that the engine sends after the end, also once the engine has lost it', async () => {
    const queries: URLSearchParams[] = [];
    engine.answer = ({ url = '' }, response) => {
      queries.push(new URL(url, 'http://engine').searchParams);
      response.writeHead(200).flushHeaders();
      response.write(oom);
    };
    expect(await result()).to.equal(true);
    const [query] = queries;
    expect([query?.get('since'), query?.get('until')]).to.deep.equal([
      '1700000000.000',
      '1700000012.000',
    ]);
    expect(JSON.parse(query?.get('filters') ?? '')).to.deep.equal({
      ...{ type: ['container'], container: [killed.id], event: ['oom'] },
    });
    expect(await open().include(run, killed), 'of another process').to.equal(true);
    expect(queries).to.have.length(1);
  });

  it('is known from the log of the kernel, without the engine and without a wait, also after a restart', async () => {
    await logKill(0);
    const other = { ...killed, id: 'f'.repeat(64) };
    expect(await ends.include({ ...run, run: 2 }, other), 'another').to.equal(undefined);
    expect(await ends.include(run, killed)).to.equal(true);
    await rm(kernelLog());
    expect(await open().include(run, killed)).to.equal(true);
    expect(await ends.becameKnown(run), 'after its end was handled').to.equal(false);
  });

  it('that was handled as unexplained is known once the engine reports it, regardless of when', async () => {
    engine.answer = (_request, response) => {
      response.writeHead(200).end();
    };
    expect(await result()).to.equal(false);
    expect(await ends.becameKnown(run)).to.equal(false);
    notified.length = 0;
    await ends.reported(run, killed.id, killed.finishedAt!);
    expect(notified).to.deep.equal([run.id]);
    expect(await ends.include(run, killed)).to.equal(true);
    expect(await ends.becameKnown(run)).to.equal(true);
    expect(await open().include(run, killed), 'of another process').to.equal(true);
    expect(await open().becameKnown(run), 'of another process').to.equal(true);
  });

  it('is not that of another process that was killed long before, by any source', async () => {
    const long = { ...killed, startedAt: killed.startedAt! - 3_600_000 };
    let since: string | null = null;
    engine.answer = ({ url = '' }, response) => {
      since = new URL(url, 'http://engine').searchParams.get('since');
      response.writeHead(200).end();
    };
    await ends.reported(run, killed.id, killed.finishedAt! - 10_001);
    notified.length = 0;
    await logKill(10_400);
    // The mark of the engine is that of the earlier kill.
    expect(await result({ ...long, outOfMemory: true })).to.equal(false);
    expect(since).to.equal('1699999999.500');
    expect(await ends.becameKnown(run)).to.equal(false);
    expect(await open().becameKnown(run), 'of another process').to.equal(false);
  });

  it('is that of the latest of several kills', async () => {
    for (const beforeMs of [3_600_000, 60_000, 59_999, 10_000, 9_999])
      await ends.reported(run, killed.id, killed.finishedAt! - beforeMs);
    expect(await ends.include(run, killed)).to.equal(true);
    expect(await open().include(run, killed), 'of another process').to.equal(true);
    expect(engine.calls).to.deep.equal([]);
  });

  it('that was handled is not explained by a late report of an early kill', async () => {
    noEvents();
    expect(await result()).to.equal(false);
    await ends.reported(run, killed.id, killed.finishedAt! - 10_001);
    expect(await ends.include(run, killed)).to.equal(false);
    expect(await ends.becameKnown(run)).to.equal(false);
    // An engine dates its event when it learns of the kill.
    await ends.reported(run, killed.id, killed.finishedAt! + 60_000);
    expect(await ends.include(run, killed)).to.equal(true);
    expect(await ends.becameKnown(run)).to.equal(true);
  });

  it('is known without a search if the engine reported the limit before', async () => {
    await ends.reported(run, killed.id, killed.finishedAt!);
    expect(await ends.include(run, killed)).to.equal(true);
    expect(await ends.becameKnown(run)).to.equal(false);
    expect(engine.calls).to.deep.equal([]);
  });

  it('is known if the engine reports it while the search has no answer', async () => {
    let end: (() => void) | undefined;
    engine.answer = (_request, response) => {
      response.writeHead(200).flushHeaders();
      end = () => response.end();
    };
    expect(await ends.include(run, killed)).to.equal(undefined);
    await eventually('the query', () => end !== undefined);
    await ends.reported(run, killed.id, killed.finishedAt!);
    expect(await ends.include(run, killed)).to.equal(true);
    end?.();
    await eventually('the end of the search', () => notified.length === 2);
    expect(await ends.include(run, killed)).to.equal(true);
  });

  it('is searched once for all callers, who do not wait, until the engine ends its answer', async () => {
    let end: (() => void) | undefined;
    engine.answer = (_request, response) => {
      response.writeHead(200).flushHeaders();
      end = () => response.end();
    };
    const asked = await Promise.all([1, 2, 3].map(() => ends.include(run, killed)));
    expect(asked).to.deep.equal([undefined, undefined, undefined]);
    await eventually('the query', () => end !== undefined);
    expect(notified).to.deep.equal([]);
    end?.();
    await eventually('the end of the search', () => notified.length > 0);
    for (let n = 0; n < 3; n += 1) expect(await ends.include(run, killed)).to.equal(false);
    expect(engine.calls.filter((call) => call.includes('/events'))).to.have.length(1);
  });

  it('counts as unknown after 5 s if the engine does not end its answer', async () => {
    let isAsked = false;
    engine.answer = (_request, response) => {
      response.writeHead(200).flushHeaders();
      response.write(oom.replace(killed.id, 'f'.repeat(64)));
      isAsked = true;
    };
    expect(await ends.include(run, killed)).to.equal(undefined);
    await eventually('the query', () => isAsked);
    await clock.advance(4_999);
    expect(notified).to.deep.equal([]);
    await clock.advance(1);
    await eventually('the end of the search', () => notified.length > 0);
    expect(await ends.include(run, killed)).to.equal(false);
  });

  for (const [what, answer] of [
    ['refuses the query', 400],
    ['fails', 500],
  ] as const)
    it(`counts as unknown if the engine ${what}`, async () => {
      engine.answer = (_request, response) => {
        response.writeHead(answer).end('{"message":"no"}');
      };
      expect(await result()).to.equal(false);
    });

  it('is searched from the end if the clock of the engine was set back while the container ran', async () => {
    let since: string | null = null;
    engine.answer = ({ url = '' }, response) => {
      since = new URL(url, 'http://engine').searchParams.get('since');
      response.writeHead(200).end(oom);
    };
    expect(await result({ ...killed, startedAt: 1_700_000_060_000 })).to.equal(true);
    expect(since).to.equal('1700000009.500');
  });

  for (const [what, skewMs, until] of [
    ['is behind that of the engine', -60_000, '1700000011.500'],
    ['is ahead of it', 60_000, '1700000021.500'],
  ] as const)
    it(`is awaited for a limited time if the clock of kedged ${what}`, async () => {
      clock = new FakeClock(killed.finishedAt! + skewMs);
      ends = open();
      let asked: string | null = null;
      engine.answer = ({ url = '' }, response) => {
        asked = new URL(url, 'http://engine').searchParams.get('until');
        response.writeHead(200).end();
      };
      expect(await result()).to.equal(false);
      expect(asked).to.equal(until);
    });

  it('does not bring back the records of a workload that was removed meanwhile', async () => {
    engine.answer = (_request, response) => {
      response.writeHead(200).end(oom);
    };
    await rm(join(directory, run.id), { recursive: true });
    expect(await result()).to.equal(true);
    expect(await new ContainerRecords(directory).workloads()).to.deep.equal([]);
  });

  it('is searched for at most 16 containers at a time', async () => {
    const open: (() => void)[] = [];
    engine.answer = (_request, response) => {
      response.writeHead(200).flushHeaders();
      open.push(() => response.end());
    };
    const containers = Array.from({ length: 20 }, (_, n) => ({ ...killed, id: `c${n}` }));
    for (const each of containers) await ends.include(run, each);
    await eventually('the first searches', () => open.length === 16);
    for (const end of open.splice(0, 4)) end();
    await eventually('the last searches', () => open.length === 16);
    for (const end of open) end();
    await eventually('the end of all', () => notified.length === 20);
  });

  it('is not searched after the runtime is closed', async () => {
    engine.answer = (_request, response) => {
      response.writeHead(200).flushHeaders();
    };
    expect(await ends.include(run, killed)).to.equal(undefined);
    closing.abort();
    expect(await ends.include(run, { ...killed, id: 'f' })).to.equal(undefined);
    await eventually('the end of the timers', () => clock.pending === 0);
    expect(notified).to.deep.equal([]);
  });

  it('is not searched without a limit, for another exit code, or where the engine reports it', async () => {
    const withoutLimit = { ...killed, limits: limitsIn({}) };
    expect(await ends.include(run, withoutLimit)).to.equal(false);
    expect(await ends.include(run, { ...killed, exitCode: 1 })).to.equal(false);
    expect(await ends.include(run, { ...killed, outOfMemory: true })).to.equal(true);
    expect(engine.calls).to.deep.equal([]);
  });
});
