import { ModelDatabase, type ModelDriverOptions } from './model-database.js';
import type { DatabaseDriver, FileSystem } from '../store/index.js';
import { encodeManifest, readManifest, writeWhole } from './model-files.js';

/**
 * Removes the newest table without a trace: the last writes are lost, and the database does not report it. The
 * database must not be open.
 */
export async function loseNewestTable(files: FileSystem, path: string): Promise<void> {
  const manifest = await readManifest(files, path);
  const name = (await files.readFile(`${path}/CURRENT`)).toString();
  const lost = { ...manifest, tables: manifest.tables.slice(0, -1) };
  await writeWhole(files, `${path}/${name}`, encodeManifest(lost));
}

/**
 * A database driver on a given file system, for `LevelEngine`. Its lock and check always succeed; see the testing
 * guide.
 */
export function modelDriver(options: ModelDriverOptions): DatabaseDriver {
  return {
    lock: () => Promise.resolve({ release: () => Promise.resolve() }),
    check: () => Promise.resolve(),
    open: async (path) => {
      const database = new ModelDatabase(path, options);
      await database.recover();
      return database;
    },
  };
}
