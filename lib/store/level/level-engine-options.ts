import type { Clock } from '../../base/index.js';
import type { FileSystem } from '../directory/file-system.js';
import type { DatabaseDriver } from './level-database.js';

/** Options of {@link LevelEngine}. */
export interface LevelEngineOptions {
  /** Data directory; the database is its `db` folder. */
  readonly directory: string;
  /** Bytes LevelDB gathers in memory before a file; default 16 MiB. */
  readonly writeBufferBytes?: number;
  readonly clock?: Clock;
  /** Where the files beside the database live; tests give one that fails. Default: the machine's. */
  readonly fileSystem?: FileSystem;
  /**
   * Names in the directory, beside the library's own, that a way back from a migration needs: they are
   * copied with the database. Absent ones are passed over.
   */
  readonly copiedBeforeMigration?: readonly string[];
  /** Which database keeps the log; tests give one that loses what LevelDB may lose. Default: LevelDB. */
  readonly driver?: DatabaseDriver;
  /** Only for the test that proves that the power-loss test sees: appends without waiting for the disk. */
  readonly unsafeNoSync?: boolean;
}
