import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import {
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  statfs,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { hasCode, LevelEngine, openStore, removeFinalizer, StatusError, systemClock } from 'kedge';
import { eventually } from 'kedge/testing';
import { Level } from 'level';
import { content, entries, openLedger, pad, put } from './ledger.js';

const opener = fileURLToPath(new URL('weakness-opener.js', import.meta.url));
const encoding = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;
const prefix = 0x72;

function recordKey(revision: number): Buffer {
  const key = Buffer.alloc(13);
  key[0] = prefix;
  key.writeUIntBE(revision, 3, 6);
  return key;
}

async function rawly<R>(
  directory: string,
  work: (db: Level<Buffer, Buffer>) => Promise<R>,
): Promise<R> {
  const db = new Level<Buffer, Buffer>(directory, encoding);
  await db.open();
  try {
    return await work(db);
  } finally {
    await db.close();
  }
}

async function logFile(directory: string): Promise<string> {
  const names = await readdir(directory);
  const sizes = await Promise.all(
    names
      .filter((n) => n.endsWith('.log'))
      .map(async (n) => [n, (await stat(join(directory, n))).size] as const),
  );
  return join(directory, sizes.sort((a, b) => b[1] - a[1])[0]?.[0] ?? '');
}

async function refusal(directory: string): Promise<StatusError> {
  try {
    const store = await openLedger(directory);
    await store.close();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  return expect.fail('the store should have refused to open');
}

/** Each weakness of LevelDB, raw, and the behaviour of the store in that case. */
describe('a weakness of LevelDB', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-weakness-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));
  const db = (): string => join(directory, 'db');

  it('records in the middle vanish without an error: the store detects the gap', async () => {
    const raw = join(directory, 'raw');
    await rawly(raw, async (level) => {
      for (let n = 0; n < 100; n += 1)
        await level.put(recordKey(n), Buffer.from(pad(n)), { sync: true } as object);
    });
    const flip = async (folder: string, share: number): Promise<void> => {
      const path = await logFile(folder);
      const handle = await open(path, 'r+');
      const at = Math.floor((await handle.stat()).size * share);
      const byte = Buffer.alloc(1);
      await handle.read(byte, 0, 1, at);
      await handle.write(Buffer.from([(byte[0] ?? 0) ^ 0xff]), 0, 1, at);
      await handle.close();
    };
    await flip(raw, 0.5);
    const left = await rawly(raw, (level) => level.keys().all());
    expect(left.length, 'raw: opens, with records missing').to.be.lessThan(100);

    const store = await openLedger(directory, { writeBufferBytes: 16 * 1024 * 1024 });
    for (let n = 0; n < 100; n += 1) await put(store, `e${n}`, n);
    await store.close();
    await flip(db(), 0.5);
    const error = await refusal(directory);
    expect(error.code).to.equal('DataLoss');
    expect(error.message).to.match(/revision/);
  });

  it('a changed value is served without an error: the store refuses it by checksum', async () => {
    const store = await openLedger(directory);
    for (let n = 0; n < 10; n += 1) await put(store, `e${n}`, n);
    await store.close();
    await rawly(db(), async (level) => {
      const value = Buffer.from((await level.get(recordKey(5))) ?? []);
      const at = value.indexOf('"value"');
      value[at + 8] = '9'.charCodeAt(0);
      await level.put(recordKey(5), value);
      expect((await level.get(recordKey(5)))?.[at + 8], 'raw: served').to.equal('9'.charCodeAt(0));
    });
    const error = await refusal(directory);
    expect(error.reason).to.equal('Damaged');
    expect(error.message).to.contain('revision 5');
  });

  it('the tail is lost without an error: the store records its end', async () => {
    const store = await openLedger(directory, { writeBufferBytes: 16 * 1024 * 1024 });
    for (let n = 0; n < 100; n += 1) await put(store, `e${n}`, n);
    await store.close();
    const path = await logFile(db());
    await truncate(path, Math.floor((await stat(path)).size * 0.8));
    const left = await rawly(db(), (level) => level.keys().all());
    expect(left.length, 'raw: opens, shorter').to.be.within(10, 99);
    const error = await refusal(directory);
    expect(error.reason).to.equal('LogTailLost');
    expect(error.message).to.contain('100');
  });

  it('a deleted CURRENT creates an empty database: the store refuses it', async () => {
    const store = await openLedger(directory);
    await put(store, 'a', 1);
    await store.close();
    await rm(join(db(), 'CURRENT'));
    expect((await refusal(directory)).code).to.equal('DataLoss');
    const raw = join(directory, 'raw');
    await rawly(raw, (level) => level.put(recordKey(1), Buffer.from('x')));
    // Opened again, the log has become a table.
    await rawly(raw, () => Promise.resolve());
    await rm(join(raw, 'CURRENT'));
    const found = await rawly(raw, (level) => level.keys().all());
    expect(found, 'raw: empty').to.deep.equal([]);
  });

  it('a loss below the compaction mark has no error: the store counted and hashed the records', async () => {
    const engine = (): LevelEngine => new LevelEngine({ directory });
    const options = { historyEvents: 0, historyAgeMs: -1_000 };
    const store = await openStore({ engine: engine(), ...options });
    for (let n = 1; n <= 20; n += 1) await put(store, `e${n}`, n);
    await store.deleteByName(entries, { name: 'e3' });
    await store.compact();
    await store.close();
    const removed = await rawly(db(), async (level) => {
      const value = await level.get(recordKey(7));
      await level.del(recordKey(7));
      return value ?? Buffer.alloc(0);
    });
    expect((await refusal(directory)).reason, 'missing').to.equal('CheckpointMismatch');
    await rawly(db(), (level) => level.put(recordKey(7), removed));
    const again = await openStore({ engine: engine(), ...options });
    expect((await content(again)).size).to.equal(19);
    await again.close();
    // A deleted object's record reappears, as those of LevelDB do after the loss of a tombstone.
    const other = join(directory, 'other');
    const donor = await openStore({ engine: new LevelEngine({ directory: other }) });
    for (let n = 1; n <= 3; n += 1) await put(donor, `e${n}`, n);
    await donor.close();
    const ghost = await rawly(join(other, 'db'), (level) => level.get(recordKey(3)));
    await rawly(db(), (level) => level.put(recordKey(3), ghost ?? Buffer.alloc(0)));
    expect((await refusal(directory)).reason, 'back again').to.equal('CheckpointMismatch');
  });

  it('its lock is released once LOCK was read: the store has separate locks', async function () {
    this.timeout(180_000);
    const raw = join(directory, 'raw');
    const open = (kind: string, path: string): string =>
      execFileSync(process.execPath, [opener, kind, path], { encoding: 'utf8' }).trim();
    const level = new Level(raw);
    await level.open();
    expect(open('raw', raw), 'raw: held').to.equal('refused');
    await readFile(join(raw, 'LOCK'));
    expect(open('raw', raw), 'raw: no longer held').to.equal('opened');
    await level.close();

    const store = await openLedger(directory);
    await readFile(join(db(), 'LOCK'));
    expect(open('store', directory)).to.equal('refused');
    const second = await openLedger(directory).catch((error: unknown) => error);
    expect(hasCode(second, 'FailedPrecondition')).to.equal(true);
    expect(open('store', directory), 'after a refused open').to.equal('refused');
    await put(store, 'a', 1);
    await store.close();
    expect(open('store', directory)).to.equal('opened');
  });

  describe('on a full disk', function () {
    this.timeout(180_000);
    let disk: string;
    before(async function () {
      disk = await mkdtemp(join(tmpdir(), 'kedge-full-'));
      try {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', disk], { stdio: 'pipe' });
      } catch (error) {
        await rm(disk, { recursive: true, force: true });
        if (process.env['CI']) throw error;
        console.log('skipped: mounting a small tmpfs needs root');
        this.skip();
      }
    });
    after(async () => {
      execFileSync('umount', [disk], { stdio: 'ignore' });
      await rm(disk, { recursive: true, force: true });
    });
    const filler = (): string => join(disk, 'filler');

    it('one ENOSPC is permanent: the store reopens itself, and has every acknowledged write', async () => {
      const big = Buffer.alloc(64 * 1024, 7);
      const fillUp = async (write: (n: number) => Promise<unknown>): Promise<number> => {
        for (let n = 0; ; n += 1) {
          try {
            await write(n);
          } catch {
            return n;
          }
        }
      };
      const rawAfterwards = async (): Promise<string> => {
        const raw = new Level<Buffer, Buffer>(join(disk, 'raw'), encoding);
        await raw.open();
        await writeFile(filler(), Buffer.alloc(12 * 1024 * 1024));
        await fillUp((n) => raw.put(recordKey(n), big, { sync: true } as object));
        await rm(filler());
        const after = await raw.put(recordKey(0), big, { sync: true } as object).then(
          () => 'works',
          () => 'fails',
        );
        await raw.close();
        await rm(join(disk, 'raw'), { recursive: true });
        return after;
      };
      // A failed write to the log recovers once space is free; a failed table does not.
      const seen: string[] = [];
      while (!seen.includes('fails') && seen.length < 10) seen.push(await rawAfterwards());
      expect(seen, 'raw: with room again').to.include('fails');

      await writeFile(filler(), Buffer.alloc(12 * 1024 * 1024));
      const store = await openStore({
        engine: new LevelEngine({ directory: join(disk, 'store') }),
        clock: systemClock,
        freeBytesFloor: 0,
      });
      const written = await fillUp((n) => put(store, `e${n}`, n));
      const filled = await fillUp((n) =>
        store.create(entries, { name: `big${n}`, pad: big.toString('hex') }),
      );
      expect(written + filled).to.be.greaterThan(20);
      expect(store.health().state).to.equal('poisoned');
      expect((await content(store)).size, 'reads continue').to.be.greaterThanOrEqual(written);
      await rm(filler());
      await eventually('healing', () => store.health().state === 'serving', 30_000);
      await put(store, 'after', 1);
      const found = await content(store);
      for (let n = 0; n < written; n += 1) expect(found.get(`e${n}`)).to.equal(n);
      await store.verify();
      await store.close();
      await rm(join(disk, 'store'), { recursive: true });
    });

    it('objects with finalizers are deleted on a disk that its own writes filled, step by step', async () => {
      const held = 'test/holds';
      const floor = 12 * 1024 * 1024;
      const store = await openStore({
        engine: new LevelEngine({ directory: join(disk, 'held'), writeBufferBytes: 1024 * 1024 }),
        freeBytesFloor: floor,
      });
      const names = Array.from({ length: 20 }, (_, n) => ({ name: `held${n}` }));
      for (const key of names)
        await store.create(entries, { ...key, pad: pad(1), metadata: { finalizers: [held] } });
      const text = randomBytes(64 * 1024).toString('hex');
      let refusal: unknown;
      for (let n = 0; refusal === undefined; n += 1)
        await store.create(entries, { name: `big${n}`, pad: text + n }).catch((error: unknown) => {
          refusal = error;
        });
      expect(hasCode(refusal, 'ResourceExhausted')).to.equal(true);
      expect((await statfs(disk)).bavail * (await statfs(disk)).bsize).to.be.lessThan(floor);
      expect(store.health().state).to.equal('full');
      for (const key of names) {
        const marked = await store.deleteByName(entries, key);
        expect(marked.metadata.deletionRequestedAt).to.be.a('string');
        await removeFinalizer(store, entries, marked, held);
        expect(await store.get(entries, key)).to.equal(undefined);
      }
      const error: unknown = await put(store, 'held0', 1).catch((e: unknown) => e);
      expect(hasCode(error, 'ResourceExhausted')).to.equal(true);
      await store.verify();
      await store.close();
      await rm(join(disk, 'held'), { recursive: true });
    });

    it('a store that can not be opened for lack of space is not reported as damaged', async () => {
      const directory = join(disk, 'unopenable');
      const store = await openLedger(directory);
      await put(store, 'a', 1);
      await store.close();
      const { bavail, bsize } = await statfs(disk);
      await writeFile(filler(), Buffer.alloc(bavail * bsize));
      const error = await refusal(directory);
      expect(error.code).to.equal('Unavailable');
      expect(error.message).to.match(/No space left|ENOSPC/);
      expect(error.message).to.not.contain('restore');
      await rm(filler());
      const again = await openLedger(directory);
      expect((await content(again)).get('a')).to.equal(1);
      await again.close();
      await rm(directory, { recursive: true });
    });

    it('the store refuses writes before the disk is full, and still accepts deletions', async () => {
      const store = await openStore({
        engine: new LevelEngine({ directory: join(disk, 'early') }),
        freeBytesFloor: 20 * 1024 * 1024,
      });
      await put(store, 'a', 1);
      await writeFile(filler(), Buffer.alloc(8 * 1024 * 1024));
      const error = await eventually('refusal', async () => {
        const outcome: unknown = await put(store, `e${Math.random()}`, 1).catch((e: unknown) => e);
        return hasCode(outcome, 'ResourceExhausted') ? outcome : undefined;
      });
      expect(error.message).to.contain('deletions');
      expect(store.health().state).to.equal('full');
      await store.deleteByName(entries, { name: 'a' });
      await rm(filler());
      await eventually('room', async () => {
        await put(store, 'b', 2).catch(() => undefined);
        return store.health().state === 'serving';
      });
      await store.close();
    });
  });
});
