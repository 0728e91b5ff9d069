import type { Clock } from '../../base/index.js';
import type { FileSystem } from '../directory/file-system.js';
import type { DatabaseDriver } from './level-database.js';

/** Options of {@link LevelEngine}. */
export interface LevelEngineOptions {
  /** Data directory; the database is its `db` folder. */
  readonly directory: string;
  /** Bytes of LevelDB's write buffer; default 16 MiB. */
  readonly writeBufferBytes?: number;
  readonly clock?: Clock;
  /** The file system of the engine itself, not of LevelDB; tests inject a failing one. Default: the machine's. */
  readonly fileSystem?: FileSystem;
  /**
   * Further names in the directory that a rollback of a migration needs: they are copied with the database. Missing
   * ones are skipped.
   */
  readonly copiedBeforeMigration?: readonly string[];
  /** The database of the log. Default: LevelDB. */
  readonly driver?: DatabaseDriver;
  /** Only for the self-test of the power-loss test: appends without a sync. */
  readonly unsafeNoSync?: boolean;
}
