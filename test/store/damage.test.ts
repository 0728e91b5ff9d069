import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { type Failure, failingDriver } from './failing-driver.js';
import { content, entries, openLedger, put } from './ledger.js';

const places = Number(process.env['KEDGE_DAMAGE_PLACES'] ?? 80);
const inspector = fileURLToPath(new URL('damage-inspector.js', import.meta.url));

describe('damage', function () {
  this.timeout(600_000);
  let folder: string;
  let origin: string;
  let revision: number;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-damage-'));
    origin = join(folder, 'origin');
    // Twice, so that tables, a manifest with history and a new log exist. Compactions fail in both ways, and the
    // next opening finishes them.
    for (const round of [0, 1]) {
      let failure: Failure | undefined;
      let store = await openLedger(origin, { driver: failingDriver(() => failure) });
      for (let n = 0; n < 600; n += 1) {
        await put(store, `e${n % 150}`, round * 1_000 + n);
        if (n % 200 !== 150) continue;
        failure = n % 400 === 150 ? 'before' : 'after';
        await store.compact().catch(() => undefined);
        failure = undefined;
        await store.close();
        store = await openLedger(origin, { driver: failingDriver(() => failure) });
        await store.verify();
      }
      for (let n = 0; n < 150; n += 7) await store.deleteByName(entries, { name: `e${n}` });
      await store.compact();
      await writeFile(join(folder, 'content.json'), JSON.stringify([...(await content(store))]));
      ({ revision } = store);
      await store.close();
    }
    const names = (await readdir(join(origin, 'db'))).join(' ');
    for (const kind of ['.log', '.ldb', 'MANIFEST', 'CURRENT']) expect(names).to.contain(kind);
  });
  after(() => rm(folder, { recursive: true }));

  it(`${places} flips, cuts, zeroed pages and missing files: correct data, or a refusal that names the damage and its place`, () => {
    const outcomes = { right: 0, refused: 0, aborted: 0 };
    const wrong: string[] = [];
    for (let next = 0; next < places; ) {
      const args = [inspector, origin, join(folder, 'content.json'), String(revision)];
      const { stdout, stderr, signal, status } = spawnSync(
        process.execPath,
        [...args, String(next), String(places)],
        { encoding: 'utf8' },
      );
      const lines = stdout.split('\n').filter((line) => line !== '');
      for (const line of lines) {
        const [, outcome] = /^\d+ (right|refused) /.exec(line) ?? [];
        if (outcome === 'right' || outcome === 'refused') outcomes[outcome] += 1;
        else wrong.push(line);
      }
      next += lines.length;
      if (status === 0) break;
      // LevelDB's own assertions stop the process: no wrong data was served, but no damage was reported. The next
      // start reports it.
      expect(signal, stderr).to.equal('SIGABRT');
      expect(stderr).to.contain('leveldb');
      const range = [String(next), String(next + 1), 'again'];
      const second = spawnSync(process.execPath, [...args, ...range], { encoding: 'utf8' });
      expect(second.stdout, second.stderr).to.match(/^\d+ refused /);
      outcomes.aborted += 1;
      next += 1;
    }
    expect(wrong).to.deep.equal([]);
    // Both outcomes must occur, or the test checks nothing.
    expect(outcomes.right).to.be.greaterThan(0);
    expect(outcomes.refused).to.be.greaterThan(places / 10);
    expect(outcomes.aborted).to.be.at.most(Math.ceil(places / 50));
  });
});
