// Restores a backup over the existing store, and prints the outcome. Arguments: data directory, backup.
import { writeSync } from 'node:fs';
import { LevelEngine, restoreBackup } from 'kedge';

const [directory = '', backup = ''] = process.argv.slice(2);
writeSync(1, 'begins\n');
const engine = new LevelEngine({ directory });
const { revision } = await restoreBackup(backup, engine, { replace: true });
writeSync(1, `restored ${revision}\n`);
