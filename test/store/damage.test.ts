import { cp, mkdtemp, open, readdir, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { expect } from 'chai';
import { seededRandom, StatusError } from 'kedge';
import { content, entries, openLedger, put } from './ledger.js';

const places = Number(process.env['KEDGE_DAMAGE_PLACES'] ?? 200);
const pageBytes = 4_096;

type Damage = 'flip' | 'cut' | 'zero' | 'delete';
const damages: readonly Damage[] = ['flip', 'flip', 'flip', 'cut', 'zero', 'delete'];

async function files(directory: string): Promise<readonly string[]> {
  const found = await readdir(directory, { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();
}

/** `.log`, `.ldb`, MANIFEST, CURRENT, high-water and so on. */
function kindOf(file: string): string {
  return file.replace(/^db\//, '').replace(/\d+/, '');
}

async function harm(path: string, damage: Damage, next: () => number): Promise<void> {
  const { size } = await stat(path);
  if (damage === 'delete') return rm(path);
  const at = Math.floor(next() * size);
  if (damage === 'cut') return truncate(path, at);
  const handle = await open(path, 'r+');
  try {
    const length = damage === 'zero' ? Math.min(pageBytes, size - at) : Math.min(1, size);
    const bytes = Buffer.alloc(length);
    if (damage === 'flip') {
      await handle.read(bytes, 0, length, at);
      bytes[0] = (bytes[0] ?? 0) ^ (1 << Math.floor(next() * 8));
    }
    await handle.write(bytes, 0, length, at);
  } finally {
    await handle.close();
  }
}

describe('damage', function () {
  this.timeout(600_000);
  let origin: string;
  let expected: Map<string, number>;
  let revision: number;

  before(async () => {
    origin = await mkdtemp(join(tmpdir(), 'kedge-origin-'));
    // Twice, so that tables, a manifest with history and a fresh log are all there.
    for (const round of [0, 1]) {
      const store = await openLedger(origin);
      for (let n = 0; n < 600; n += 1) await put(store, `e${n % 150}`, round * 1_000 + n);
      for (let n = 0; n < 150; n += 7) await store.delete(entries, { name: `e${n}` });
      await store.compact();
      expected = await content(store);
      ({ revision } = store);
      await store.close();
    }
  });
  after(() => rm(origin, { recursive: true }));

  it(`${places} flips, cuts, zeroed pages and missing files: right data, or a refusal that names what and where`, async () => {
    const kinds = [...new Set((await files(origin)).map(kindOf))];
    expect(kinds).to.include.members(['.log', '.ldb', 'MANIFEST-', 'CURRENT', 'high-water']);
    const outcomes = { right: 0, refused: 0 };
    for (let place = 0; place < places; place += 1) {
      const random = seededRandom(place);
      const directory = await mkdtemp(join(tmpdir(), 'kedge-damaged-'));
      try {
        await cp(origin, directory, { recursive: true });
        const kind = kinds[place % kinds.length];
        const candidates = (await files(directory)).filter((file) => kindOf(file) === kind);
        const file = candidates[Math.floor(random.next() * candidates.length)] ?? 'high-water';
        const damage = damages[Math.floor(random.next() * damages.length)] ?? 'flip';
        await harm(join(directory, file), damage, () => random.next());
        const outcome = await inspect(directory, `place ${place}: ${damage} in ${file}`);
        outcomes[outcome] += 1;
      } finally {
        await rm(directory, { recursive: true });
      }
    }
    // Both must happen, or the test looks at nothing.
    expect(outcomes.right).to.be.greaterThan(0);
    expect(outcomes.refused).to.be.greaterThan(places / 10);
  });

  async function inspect(directory: string, what: string): Promise<'right' | 'refused'> {
    try {
      const store = await openLedger(directory);
      try {
        expect(store.revision, what).to.equal(revision);
        expect(await content(store), what).to.deep.equal(expected);
        await store.verify();
        await put(store, 'after', 1);
      } finally {
        await store.close();
      }
      return 'right';
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      expect(error.code, `${what}: ${error.message}`).to.equal('DataLoss');
      expect(error.message, what).to.match(/revision|high-water|database in|records/);
      return 'refused';
    }
  }
});
