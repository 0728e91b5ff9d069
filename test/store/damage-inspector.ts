// Damages copies of a store and reports the outcomes of opening them. Arguments: directory of the store, file of
// its content as JSON, its revision, first place, end, and "again" for the outcome in the process after a crashed
// one. A separate process, because LevelDB itself may abort on damage.
import {
  cp,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { seededRandom, StatusError } from 'kedge';
import { content, openLedger, put } from './ledger.js';

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

/** The outcome: right, refused, or the violation. */
async function inspect(
  directory: string,
  expected: Map<string, number>,
  revision: number,
): Promise<string> {
  try {
    const store = await openLedger(directory);
    try {
      if (store.revision !== revision) return `wrong: revision ${store.revision}`;
      if (!isDeepStrictEqual(await content(store), expected)) return 'wrong: content';
      await store.verify();
      // Enough for a compaction to drop earlier history.
      for (let n = 0; n < 60; n += 1) await put(store, 'after', n);
      await store.compact();
    } finally {
      await store.close();
    }
    const again = await openLedger(directory);
    try {
      const after = await content(again);
      if (!isDeepStrictEqual(after, new Map(expected).set('after', 59)))
        return 'wrong: content after a compaction';
      await again.verify();
    } finally {
      await again.close();
    }
    return 'right';
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    if (error.code !== 'DataLoss') return `wrong: ${error.code} ${error.message}`;
    const named = /revision|high-water|database in|records/.test(error.message);
    return named ? 'refused' : `wrong: unnamed: ${error.message}`;
  }
}

const [origin = '', contentFile = '', revision = '', from = '', end = '', again] =
  process.argv.slice(2);
const expected = new Map(JSON.parse(await readFile(contentFile, 'utf8')) as [string, number][]);
const kinds = [...new Set((await files(origin)).map(kindOf))];
for (let place = Number(from); place < Number(end); place += 1) {
  const random = seededRandom(place);
  const directory = await mkdtemp(join(tmpdir(), 'kedge-damaged-'));
  try {
    await cp(origin, directory, { recursive: true });
    const kind = kinds[place % kinds.length];
    const candidates = (await files(directory)).filter((file) => kindOf(file) === kind);
    const file = candidates[Math.floor(random.next() * candidates.length)] ?? 'high-water';
    const damage = damages[Math.floor(random.next() * damages.length)] ?? 'flip';
    await harm(join(directory, file), damage, () => random.next());
    if (again) await writeFile(join(directory, 'opening'), '');
    const outcome = await inspect(directory, expected, Number(revision));
    console.log(`${place} ${outcome} (${damage} in ${file})`);
  } finally {
    await rm(directory, { recursive: true });
  }
}
