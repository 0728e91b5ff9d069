import { execFileSync } from 'node:child_process';
import { mkdtemp, rm, stat, truncate } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { Level } from 'level';
import { StatusError } from '../../base/index.js';
import { type ApiObject, defineKind } from '../../object/index.js';
import { FakeClock } from '../../testing/index.js';
import {
  backupToFile,
  restoreBackup,
  type FileSystem,
  LevelEngine,
  nodeFileSystem,
  type OpenFile,
  openStore,
} from '../index.js';

const things = defineKind<ApiObject>({
  kind: 'Thing',
  plural: 'things',
  scope: 'Cluster',
  statusFields: [],
});

describe('level engine', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kedge-level-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  // Time stands still, so only an opening or a close writes the mark.
  const open = (directory: string) =>
    openStore({ engine: new LevelEngine({ directory, clock: new FakeClock() }) });

  /** Copies the files of a killed process. Another process copies them: reading LOCK in this one would release it. */
  function asKilled(directory: string, name: string): string {
    const copy = join(folder, name);
    execFileSync('cp', ['-r', directory, copy]);
    return copy;
  }

  /** Loses records silently, as LevelDB does if the end of a log or manifest is damaged. */
  async function loseFrom(directory: string, revision: number): Promise<void> {
    const encoding = { keyEncoding: 'buffer', valueEncoding: 'buffer' } as const;
    const level = new Level<Buffer, Buffer>(join(directory, 'db'), encoding);
    await level.open();
    const from = Buffer.alloc(13);
    from.write('r');
    from.writeUIntBE(revision, 3, 6);
    await level.clear({ gte: from });
    await level.close();
  }

  async function reason(directory: string): Promise<string> {
    try {
      const store = await open(directory);
      const { revision } = store;
      await store.close();
      return `revision ${revision}`;
    } catch (error) {
      if (error instanceof StatusError) return error.reason;
      throw error;
    }
  }

  it('knows the end of the log after a kill and a restart, and refuses a truncated one', async () => {
    const first = await open(join(folder, 'first'));
    for (let n = 0; n < 300; n += 1) await first.create(things, { name: `t${n}` });
    const killed = asKilled(join(folder, 'first'), 'killed');
    await first.close();
    const second = await open(killed);
    expect(second.revision).to.equal(300);
    const killedAgain = asKilled(killed, 'killed-again');
    await second.close();
    await loseFrom(killedAgain, 299);
    expect(await reason(killedAgain)).to.equal('LogTailLost');
  });

  it('knows the end of a restored log from its first opening on', async () => {
    const directory = join(folder, 'data');
    const backup = join(folder, 'backup');
    const first = await open(directory);
    for (let n = 0; n < 20; n += 1) await first.create(things, { name: `t${n}` });
    await backupToFile(first, backup);
    await first.close();
    const engine = new LevelEngine({ directory, clock: new FakeClock() });
    const { revision } = await restoreBackup(backup, engine, { replace: true });
    const killed = asKilled(directory, 'killed');
    expect(await reason(killed)).to.equal(`revision ${revision}`);
    await rm(join(killed, 'db'), { recursive: true });
    await (await open(join(folder, 'empty'))).close();
    execFileSync('cp', ['-r', join(folder, 'empty', 'db'), join(killed, 'db')]);
    expect(await reason(killed), 'with an empty database in its place').to.equal('LogTailLost');
  });

  it('opens with any remains of the high-water file if nothing was ever written', async () => {
    const origin = join(folder, 'origin');
    await (await open(origin)).close();
    const { size } = await stat(join(origin, 'high-water'));
    for (const length of [0, 29, 511, size - 1]) {
      const directory = asKilled(origin, `cut${length}`);
      await truncate(join(directory, 'high-water'), length);
      expect(await reason(directory), `cut at ${length}`).to.equal('revision 0');
      const again = await open(directory);
      await again.create(things, { name: 'a' });
      await again.close();
      expect(await reason(directory)).to.equal('revision 1');
      await truncate(join(directory, 'high-water'), 0);
      expect(await reason(directory), 'with something written').to.equal('Damaged');
    }
  });

  /** The machine's file system with one failing call. */
  function failing(call: number): FileSystem {
    let calls = 0;
    const guard = <T extends object>(target: T): T =>
      new Proxy(target, {
        get(object, name) {
          const member: unknown = Reflect.get(object, name);
          if (typeof member !== 'function') return member;
          return async (...args: unknown[]): Promise<unknown> => {
            calls += 1;
            const fails = calls === call;
            const error = Object.assign(new Error('EIO'), { code: 'EIO' });
            // A failed close closes the file nevertheless.
            if (fails && name !== 'close') throw error;
            const result: unknown = await Reflect.apply(member, object, args);
            if (fails) throw error;
            return name === 'open' ? guard(result as OpenFile) : result;
          };
        },
      });
    return guard(nodeFileSystem);
  }

  it('opens after a first start with any failed call', async () => {
    let opened = false;
    for (let call = 1; !opened; call += 1) {
      const directory = join(folder, `call${call}`);
      const fileSystem = failing(call);
      const engine = new LevelEngine({ directory, clock: new FakeClock(), fileSystem });
      const store = await openStore({ engine }).catch((error: unknown) => error);
      if (!(store instanceof Error)) {
        await (store as { close(): Promise<void> }).close().catch(() => undefined);
        // Some calls may fail without effect; the last ones are those of the close.
        opened = call > 40;
      } else {
        // An error of the disk is not evidence of damage.
        expect((store as StatusError).code, `call ${call}: ${store.message}`).to.equal(
          'Unavailable',
        );
      }
      expect(await reason(directory), `call ${call}`).to.equal('revision 0');
    }
  });

  it('reports the other process if one opened the database without the lock', async () => {
    const directory = join(folder, 'data');
    await (await open(directory)).close();
    const level = new Level(join(directory, 'db'));
    await level.open();
    expect(await reason(directory)).to.equal('DirectoryLocked');
    await level.close();
    expect(await reason(directory)).to.equal('revision 0');
  });

  it('reports that the mark cannot be written instead of opening without it', async () => {
    const directory = join(folder, 'data');
    const store = await open(directory);
    await store.create(things, { name: 'a' });
    await store.close();
    const readOnly: FileSystem = {
      ...nodeFileSystem,
      async open(path, mode) {
        const file = await nodeFileSystem.open(path, mode);
        if (!path.endsWith('high-water')) return file;
        const write = (): Promise<void> =>
          Promise.reject(Object.assign(new Error('ENOSPC: no space left'), { code: 'ENOSPC' }));
        return {
          read: (position, length) => file.read(position, length),
          write,
          sync: () => file.sync(),
          close: () => file.close(),
        };
      },
    };
    const engine = new LevelEngine({ directory, clock: new FakeClock(), fileSystem: readOnly });
    const error = await openStore({ engine }).catch((e: unknown) => e);
    expect((error as StatusError).reason).to.equal('HighWaterUnwritable');
    expect((error as StatusError).message)
      .to.contain('high-water')
      .and.contain('ENOSPC');
    expect(await reason(directory)).to.equal('revision 1');
  });
});
