import { expect } from 'chai';
import { systemClock } from 'kedge';
import { FakeEngine, frame } from '../../../testing/fake-engine.js';
import { readContainerLog } from '../container-log.js';
import { EngineClient } from '../engine/engine-client.js';

describe('the last lines of a workload', () => {
  let engine: FakeEngine;
  /** The frames of each run. */
  let runs: Buffer[][];

  beforeEach(async () => {
    engine = await FakeEngine.start();
    engine.answer = ({ url = '' }, response) => {
      const { pathname, searchParams } = new URL(url, 'http://engine');
      const frames = runs[Number(/\/c(\d)\//.exec(pathname)?.[1]) - 1] ?? [];
      const tail = searchParams.get('tail');
      response.writeHead(200);
      response.end(Buffer.concat(tail === null ? frames : frames.slice(-Number(tail))));
    };
  });
  afterEach(() => engine.stop());

  async function last(tail: number): Promise<readonly string[]> {
    const options = {
      containers: new EngineClient({ socketPath: engine.socketPath, clock: systemClock })
        .containers,
      runs: () => Promise.resolve(runs.map((_, n) => ({ run: n + 1, container: `c${n + 1}` }))),
      lost: () => Promise.resolve(undefined),
      nextRun: () => Promise.resolve(),
    };
    const { signal } = new AbortController();
    const found: string[] = [];
    for await (const { content } of readContainerLog(options, { tail, follow: false, signal }))
      found.push(content);
    return found;
  }

  const partBytes = 16 * 1024;
  let at = 0;
  /** The frames of a line, all with one time; the last one has no line break if there are several, as in Docker 20.10. */
  function framesOf(line: string, stream: 1 | 2): Buffer[] {
    at += 1;
    const time = `2026-01-01T00:00:00.${String(at).padStart(9, '0')}Z`;
    if (line.length < partBytes) return [frame(stream, `${time} ${line}\n`)];
    return Array.from({ length: Math.floor(line.length / partBytes) + 1 }, (_, n) =>
      frame(stream, `${time} ${line.slice(n * partBytes, (n + 1) * partBytes)}`),
    );
  }
  const lengths = [5, 40_000, 5, 5, 20_000, 50_000, 16_384, 5, 60_000, 5];

  it('are whole lines, also if each is several frames of either stream', async () => {
    const lines = lengths.map((length, n) => String(n).repeat(length));
    runs = [lines.flatMap((line, n) => framesOf(line, n % 2 === 0 ? 1 : 2))];
    for (let tail = 1; tail <= lines.length + 1; tail += 1)
      expect(await last(tail), `tail ${tail}`).to.deep.equal(lines.slice(-tail));
  });

  it('are those of an earlier run only if the later one has fewer', async () => {
    const lines = lengths.map((length, n) => String(n).repeat(length));
    runs = [lines.slice(0, 5), lines.slice(5)].map((each) =>
      each.flatMap((line) => framesOf(line, 1)),
    );
    for (let tail = 1; tail <= lines.length + 1; tail += 1)
      expect(await last(tail), `tail ${tail}`).to.deep.equal(lines.slice(-tail));
  });
});
