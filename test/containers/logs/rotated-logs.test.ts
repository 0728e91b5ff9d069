import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { ContainerRuntime, EngineClient, type LogLine } from '@kedge/controllers';
import { silentLogger, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { busyboxImage, RealEngine, requireEngine } from '../engine.js';

/**
 * Prints numbered lines of 1,000 bytes, of which the engine stores 9,700 in 10 MB. It keeps three files of 10 MB. Shorter
 * lines would fill the same files, but engine and client would spend ten times as long on them.
 */
const numbered = (from: number, to: number): string =>
  `awk 'BEGIN { for (i = ${from}; i <= ${to}; i++) printf "%08d %0990d\\n", i, i }'`;
const numberOf = ({ content }: LogLine): number => Number(content.split(' ')[0]);

describe('the log of a container that the engine rotates', function () {
  this.timeout(300_000);
  let engine: RealEngine;
  let folder: string;
  let runtime: ContainerRuntime;

  before(async function () {
    requireEngine(this);
    engine = await RealEngine.start();
    folder = await mkdtemp(join(tmpdir(), 'kedge-rotated-'));
    runtime = new ContainerRuntime({
      engine: new EngineClient({ socketPath: engine.socketPath, clock: systemClock }),
      cluster: randomUUID(),
      directory: folder,
      clock: systemClock,
      logger: silentLogger,
    });
  });
  after(async () => {
    runtime?.close();
    await engine?.stop();
    if (folder) await rm(folder, { recursive: true });
  });

  async function started(script: string): Promise<string> {
    const id = randomUUID();
    const command = ['sh', '-c', script];
    await runtime.start({ id, image: busyboxImage, command, env: {}, mounts: [] });
    return id;
  }
  async function read(
    id: string,
    more: { tail?: number; after?: readonly number[] } = {},
  ): Promise<LogLine[]> {
    const { signal } = new AbortController();
    const lines: LogLine[] = [];
    for await (const line of runtime.readLog(id, { tail: 0, follow: false, signal, ...more }))
      lines.push(line);
    return lines;
  }
  /** Checks that the numbers go from one to another without a gap or a repetition. */
  function expectSequence(lines: readonly LogLine[], from: number, to: number): void {
    const wrong = lines.findIndex((line, at) => numberOf(line) !== from + at);
    const around = lines.slice(Math.max(0, wrong - 1), wrong + 2).map(numberOf);
    expect(wrong, `around ${around.join()}`).to.equal(-1);
    expect(from + lines.length - 1).to.equal(to);
  }

  /** Waits until the engine has stored the last line. */
  const lastLine = (id: string, number: number) =>
    eventually(
      'the last line',
      async () => {
        const [last] = await read(id, { tail: 1 });
        return last !== undefined && numberOf(last) === number;
      },
      120_000,
    );

  it('is followed without a gap or a repetition', async () => {
    const id = await started(`${numbered(1, 27_000)}; exec sleep 600`);
    const stop = new AbortController();
    const lines: LogLine[] = [];
    for await (const line of runtime.readLog(id, { tail: 0, follow: true, signal: stop.signal })) {
      lines.push(line);
      if (numberOf(line) === 27_000) break;
    }
    stop.abort();
    expectSequence(lines, 1, 27_000);
    await runtime.stop(id, 0);
    await runtime.remove(id);
  });

  for (const [what, count] of [
    ['all of it', 27_000],
    ['what the engine kept, with a line about the removed output', 74_000],
  ] as const)
    it(`a follower that paused meanwhile receives ${what}`, async () => {
      const id = await started(`${numbered(1, count)}; exec sleep 600`);
      const stop = new AbortController();
      const lines: LogLine[] = [];
      for await (const line of runtime.readLog(id, {
        tail: 0,
        follow: true,
        signal: stop.signal,
      })) {
        lines.push(line);
        if (lines.length === 1) await lastLine(id, count);
        if (numberOf(line) === count) break;
      }
      stop.abort();
      const gap = lines.findIndex(({ content }) => content.startsWith('[kedge] '));
      if (count < 29_000) expectSequence(lines, 1, count);
      else {
        expectSequence(lines.slice(0, gap), 1, gap);
        expectSequence(lines.slice(gap + 1), count - (lines.length - gap - 2), count);
        expect(lines[gap]?.content).to.contain('the engine removed output');
      }
      await runtime.stop(id, 0);
      await runtime.remove(id);
    });

  it('is read with the rotated files, and from any position', async () => {
    const id = await started(`${numbered(1, 27_000)}; exec sleep 600`);
    await lastLine(id, 27_000);
    const lines = await read(id);
    expectSequence(lines, 1, 27_000);
    for (const at of [0, 6_100, 12_200, 18_400, 26_998]) {
      const after = lines[at]?.cursor ?? [];
      expectSequence(await read(id, { after }), at + 2, 27_000);
    }
    expectSequence(await read(id, { tail: 24_600 }), 2_401, 27_000);
    await runtime.stop(id, 0);
    await runtime.remove(id);
  });

  it('is read as far as the engine keeps it', async () => {
    const id = await started(`${numbered(1, 74_000)}; exec sleep 600`);
    await lastLine(id, 74_000);
    const lines = await read(id);
    expect(lines.length).to.be.greaterThan(24_000);
    expectSequence(lines, 74_001 - lines.length, 74_000);
    await runtime.stop(id, 0);
    await runtime.remove(id);
  });
});
