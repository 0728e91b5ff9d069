import { spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { backupToFile, LevelEngine, restoreBackup, seededRandom } from 'kedge';
import { content, openLedger, put } from './ledger.js';

const kills = Number(process.env['KEDGE_INTERRUPTIONS'] ?? 8);
const stride = 2 ** 32;

function script(name: string): string {
  return fileURLToPath(new URL(`${name}.js`, import.meta.url));
}

/**
 * Runs a child and kills it this many milliseconds after its first output; with Infinity it runs to its end.
 * @returns its output, and its running time after the first output
 */
function killAfter(
  file: string,
  args: readonly string[],
  ms: number,
): Promise<{ readonly output: string; readonly tookMs: number }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    let problem = '';
    let begun = 0;
    child.stdout.on('data', (data: Buffer) => {
      if (output === '') {
        begun = performance.now();
        if (ms !== Infinity) setTimeout(() => child.kill('SIGKILL'), ms);
      }
      output += data.toString();
    });
    child.stderr.on('data', (data: Buffer) => (problem += data.toString()));
    child.on('close', () => {
      if (problem === '') resolve({ output, tookMs: performance.now() - begun });
      else reject(new Error(problem));
    });
  });
}

describe('killed in the middle', function () {
  this.timeout(900_000);
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-interrupted-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it(`a restore leaves the old or the complete restored store, in ${kills} kills`, async () => {
    const origin = join(folder, 'origin');
    const backup = join(folder, 'backup');
    const source = await openLedger(join(folder, 'source'));
    for (let n = 0; n < 1_500; n += 100)
      await Promise.all(Array.from({ length: 100 }, (_, i) => put(source, `new${n + i}`, n + i)));
    await backupToFile(source, backup);
    const restored = await content(source);
    const backedUp = source.revision;
    await source.close();
    const old = await openLedger(origin);
    for (let n = 0; n < 50; n += 1) await put(old, `old${n}`, n);
    const replaced = await content(old);
    const { revision } = old;
    await old.close();

    const restore = script('restore-child');
    const whole = join(folder, 'whole');
    await cp(origin, whole, { recursive: true });
    const { tookMs } = await killAfter(restore, [whole, backup], Infinity);
    const random = seededRandom(7);
    const outcomes = { old: 0, restored: 0 };
    for (let n = 0; n < kills; n += 1) {
      const directory = join(folder, `kill${n}`);
      await cp(origin, directory, { recursive: true });
      const after = random.next() * tookMs * 1.1;
      const { output } = await killAfter(restore, [directory, backup], after);
      // The next process may also be killed immediately.
      if (n % 3 === 0) await killAfter(restore, [directory, backup], random.next() * tookMs);
      const store = await openLedger(directory);
      const found = await content(store);
      const life = store.revision < stride ? 'old' : 'restored';
      outcomes[life] += 1;
      expect(found, `kill ${n} after ${after} ms`).to.deep.equal(
        life === 'old' ? replaced : restored,
      );
      if (life === 'old') expect(store.revision).to.equal(revision);
      else expect((store.revision - Math.max(backedUp, revision)) % stride).to.equal(0);
      if (output.includes('restored')) expect(life).to.equal('restored');
      await store.verify();
      await put(store, 'after', 1);
      await store.close();
      const names = (await readdir(directory)).filter((name) => /^restor/.test(name));
      expect(names, 'leftovers').to.deep.equal([]);
      // An undisturbed restore succeeds.
      const engine = new LevelEngine({ directory });
      const again = await restoreBackup(backup, engine, { replace: true });
      expect(again.objects).to.equal(restored.size);
      await rm(directory, { recursive: true });
    }
    console.log(
      `      ${kills} kills within ${Math.round(tookMs)} ms: ${JSON.stringify(outcomes)}`,
    );
    expect(outcomes.old).to.be.greaterThan(0);
  });

  it(`a first start leaves a directory that opens, in ${kills} kills`, async () => {
    const start = script('first-start-child');
    const { tookMs } = await killAfter(start, [join(folder, 'whole')], Infinity);
    const random = seededRandom(11);
    for (let n = 0; n < kills; n += 1) {
      const directory = join(folder, `kill${n}`);
      await killAfter(start, [directory], random.next() * tookMs);
      await killAfter(start, [directory], random.next() * tookMs);
      const store = await openLedger(directory);
      await put(store, 'a', n);
      await store.close();
      const again = await openLedger(directory);
      expect((await content(again)).get('a')).to.equal(n);
      await again.close();
    }
  });
});
