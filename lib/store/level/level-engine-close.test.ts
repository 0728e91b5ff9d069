import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type FileSystem, LevelEngine, nodeFileSystem, openStore } from '../index.js';

describe('closing a store on a failing disk', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-close-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  /** A file system that fails to close the high-water file. */
  const failing: FileSystem = {
    ...nodeFileSystem,
    open: async (path, mode) => {
      const file = await nodeFileSystem.open(path, mode);
      const close = async (): Promise<void> => {
        await file.close();
        if (path.endsWith('high-water')) throw new Error('EIO: i/o error');
      };
      return { ...file, close };
    },
  };

  it('reports the failure, and releases database and directory', async () => {
    const store = await openStore({ engine: new LevelEngine({ directory, fileSystem: failing }) });
    const error: unknown = await store.close().then(
      () => undefined,
      (cause: unknown) => cause,
    );
    expect(String(error)).to.contain('EIO');
    const again = await openStore({ engine: new LevelEngine({ directory }) });
    await again.close();
  });

  it('reports why it could not be opened, not a later failure', async () => {
    await (await openStore({ engine: new LevelEngine({ directory }) })).close();
    await rm(join(directory, 'db', 'CURRENT'));
    const engine = new LevelEngine({ directory, fileSystem: failing });
    const error: unknown = await openStore({ engine }).catch((cause: unknown) => cause);
    expect(String(error)).to.contain('CURRENT');
  });
});
