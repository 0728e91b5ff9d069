import { spawnSync } from 'node:child_process';
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import {
  backupToFile,
  type FileSystem,
  hasCode,
  LevelEngine,
  type LevelEngineOptions,
  MemoryEngine,
  nodeFileSystem,
  openStore,
  restoreBackup,
  silentLogger,
} from 'kedge';
import { unpackFixture } from '../fixtures/unpack.js';

const child = fileURLToPath(new URL('migration-child.js', import.meta.url));
const fixture = 'schema-2/library-interrupted';

describe('the report of a migration, and its copies', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-report-'));
    await unpackFixture(fixture, directory);
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const engine = (options: Partial<LevelEngineOptions> = {}): LevelEngine =>
    new LevelEngine({ directory, ...options });
  /** The reports of an opening; the store is closed gracefully. */
  const reportOf = async (): Promise<string> => {
    const lines: unknown[] = [];
    const logger = { ...silentLogger, warn: (...args: unknown[]) => void lines.push(args) };
    const store = await openStore({ engine: engine(), logger });
    lines.push(store.migration);
    await store.close();
    return JSON.stringify(lines);
  };
  const copy = (): string => join(directory, 'schema-2-copy');

  it('is printed once by the next start if its process was killed after its last write', async function () {
    this.timeout(180_000);
    const calls = Number(spawnSync(process.execPath, [child, directory, '0']).stdout);
    // One more than an opening needs: the first call of closing.
    for (let killAt = calls + 1; killAt > calls - 3; killAt -= 1) {
      await rm(directory, { recursive: true });
      await unpackFixture(fixture, directory);
      const { signal } = spawnSync(process.execPath, [child, directory, String(killAt)]);
      expect(signal, `call ${killAt}`).to.equal('SIGKILL');
      // Reported whether the last write had happened or happens now.
      const lines = await reportOf();
      expect(lines, `call ${killAt}`).to.contain(copy()).and.contain('stop this release');
      expect(await reportOf()).to.equal('[null]');
    }
  });

  it('is printed by the next start if the migrated store could not be opened', async () => {
    const fails = engine();
    fails.confirm = () => Promise.reject(new Error('the disk is full'));
    const failed: unknown = await openStore({ engine: fails }).catch((error: unknown) => error);
    expect(String(failed)).to.contain('the disk is full');
    expect(await reportOf()).to.contain(copy());
    expect(await reportOf()).to.equal('[null]');
  });

  it('is not printed for a store that was restored over the migrated one', async () => {
    const fails = engine();
    fails.confirm = () => Promise.reject(new Error('the disk is full'));
    await openStore({ engine: fails }).catch(() => undefined);
    const path = join(directory, 'backup');
    const other = await openStore({ engine: new MemoryEngine() });
    await backupToFile(other, path);
    await other.close();
    await restoreBackup(path, engine(), { replace: true });
    expect(await reportOf()).to.equal('[null]');
  });

  it('keeps the earlier copy until the new one is complete, and names it if there is no space', async () => {
    await (await openStore({ engine: engine() })).close();
    await rm(join(directory, 'db'), { recursive: true });
    await rm(join(directory, 'high-water'));
    await unpackFixture(fixture, directory);
    await writeFile(join(copy(), 'witness'), 'of before');

    const full = { ...nodeFileSystem, freeBytes: () => Promise.resolve(1_000) };
    const refused: unknown = await openStore({ engine: engine({ fileSystem: full }) }).catch(
      (error: unknown) => error,
    );
    expect(hasCode(refused, 'ResourceExhausted'), String(refused)).to.equal(true);
    expect(String(refused)).to.contain(copy());
    expect(await readdir(copy())).to.include('witness');

    const fileSystem: FileSystem = {
      ...nodeFileSystem,
      copyFile: () => Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })),
    };
    const failed: unknown = await openStore({ engine: engine({ fileSystem }) }).catch(
      (error: unknown) => error,
    );
    expect(String(failed)).to.contain('nothing was changed');
    expect(await readdir(copy())).to.include('witness');

    await (await openStore({ engine: engine() })).close();
    expect(await readdir(copy()))
      .to.include('db')
      .and.not.include('witness');
    expect((await readdir(directory)).filter((name) => name.includes('copy'))).to.deep.equal([
      'schema-2-copy',
    ]);
  });

  it('has a complete copy under some name at every file system call of a replacement', async function () {
    this.timeout(180_000);
    await (await openStore({ engine: engine() })).close();
    for (let failAt = 1, done = false; !done; failAt += 1) {
      await rm(join(directory, 'db'), { recursive: true });
      await rm(join(directory, 'high-water'));
      await unpackFixture(fixture, directory);
      let calls = 0;
      const fileSystem = new Proxy(nodeFileSystem, {
        get: (target, name: keyof FileSystem) => {
          // The process dies: later steps do not happen.
          if ((calls += 1) < failAt) return Reflect.get(target, name) as unknown;
          return () => Promise.reject(new Error('dead'));
        },
      });
      const store = await openStore({ engine: engine({ fileSystem }) }).catch(() => undefined);
      await store?.close().catch(() => undefined);
      done = calls < failAt;
      const copies = (await readdir(directory)).filter((name) => /copy(\.earlier)?$/.test(name));
      expect(copies, `call ${failAt}`).to.not.deep.equal([]);
      for (const name of copies) {
        const whole = new LevelEngine({ directory: join(directory, name) });
        const opened = await openStore({ engine: whole });
        expect(opened.revision, `call ${failAt}, ${name}`).to.be.greaterThan(0);
        await opened.close();
      }
    }
  });
});
