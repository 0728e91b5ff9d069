import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { seededRandom } from 'kedge';
import { HostileFileSystem, modelDriver } from 'kedge/testing';
import { Level } from 'level';
import {
  batchKey,
  batchValue,
  durabilities,
  type LossPattern,
  lossPatterns,
} from './loss-patterns.js';
import { buildShim, losePower, withoutShim } from './power.js';

const runs = Number(process.env['KEDGE_LOSS_RUNS'] ?? 8);
const modelRuns = 250;
const writer = fileURLToPath(new URL('loss-writer.js', import.meta.url));
const forbidden: readonly LossPattern[] = ['torn', 'synced'];

/** The number of occurrences of each pattern. */
type Seen = Map<LossPattern, number>;

function count(seen: Seen, patterns: ReadonlySet<LossPattern>): void {
  for (const pattern of patterns) seen.set(pattern, (seen.get(pattern) ?? 0) + 1);
}

/** One power loss of the model during a workload. */
async function loseModel(seed: number): Promise<ReadonlySet<LossPattern>> {
  const random = seededRandom(seed);
  const files = new HostileFileSystem({ random, names: 'last' });
  await files.makeDirectory('/db');
  await files.syncDirectory('/');
  const driver = modelDriver({ files, random, memoryBytes: 20_000 });
  const database = await driver.open('/db', 0);
  const target = 5 + Math.floor(random.next() * 200);
  let acknowledged = 0;
  for (const synced of durabilities(seed)) {
    if (acknowledged === target) break;
    const batch = database.batch();
    for (const part of [0, 1])
      batch.put(Buffer.from(batchKey(acknowledged, part)), Buffer.from(batchValue(acknowledged)));
    await batch.write(synced ? 'synced' : 'unsynced');
    acknowledged += 1;
  }
  files.restart();
  const again = await driver.open('/db', 0);
  const range = { gte: Buffer.from('0'), lt: Buffer.from(':') };
  const entries = await again.iterator(range).nextv(Number.MAX_SAFE_INTEGER);
  const survived = new Set(entries.map(([key]) => key.toString()));
  return lossPatterns(seed, acknowledged, survived);
}

/** One power loss of LevelDB itself. */
async function loseLevel(shim: string, seed: number): Promise<ReadonlySet<LossPattern>> {
  const directory = await mkdtemp(join(tmpdir(), 'kedge-loss-'));
  const log = `${directory}.sync`;
  try {
    const random = seededRandom(seed);
    const child = spawn(process.execPath, [writer, directory, String(seed)], {
      env: { ...process.env, LD_PRELOAD: shim, SYNC_LOG: log },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    const target = 20 + Math.floor(random.next() * 600);
    const exited = new Promise<void>((resolve) => child.on('close', () => resolve()));
    const written = new Promise<void>((resolve) =>
      child.stdout.on('data', (data: Buffer) => {
        output += data.toString();
        if (output.split('\n').length > target) resolve();
      }),
    );
    await Promise.race([exited, written]);
    child.kill('SIGKILL');
    await exited;
    const acknowledged = output.split('\n').slice(1, -1).length;
    await losePower(directory, log, random, false);
    const db = new Level<string, string>(directory);
    await db.open();
    const survived = new Set(await db.keys().all());
    await db.close();
    return lossPatterns(seed, acknowledged, survived);
  } finally {
    await rm(directory, { recursive: true, force: true });
    await rm(log, { force: true });
  }
}

describe('the loss of writes at a power loss', function () {
  this.timeout(600_000);
  let folder: string;
  const model: Seen = new Map();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-shim-'));
    for (let seed = 1; seed <= modelRuns; seed += 1) count(model, await loseModel(seed));
  });
  after(() => rm(folder, { recursive: true, force: true }));

  it('in the model has every pattern except a torn batch and a lost synced one', () => {
    for (const pattern of forbidden) expect(model.get(pattern), pattern).to.equal(undefined);
    expect([...model.keys()]).to.have.members(['nothing', 'end', 'alone', 'before a synced one']);
  });

  it(`in LevelDB has only patterns of the model, in ${runs} runs`, async function () {
    const reason = withoutShim();
    if (reason !== undefined) {
      console.log(reason);
      this.skip();
    }
    const shim = buildShim(folder);
    const level: Seen = new Map();
    for (let seed = 1; seed <= runs; seed += 1) count(level, await loseLevel(shim, seed));
    console.log(`      LevelDB: ${summaryOf(level)}; the model: ${summaryOf(model)}`);
    expect([...model.keys()]).to.include.members([...level.keys()]);
  });
});

function summaryOf(seen: Seen): string {
  return [...seen].map(([pattern, times]) => `${pattern} ${times}`).join(', ');
}
