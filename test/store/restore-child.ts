// Restores a backup over what is there, and says so. Arguments: data directory, backup.
import { writeSync } from 'node:fs';
import { LevelEngine, restoreBackup } from 'kedge';

const [directory = '', backup = ''] = process.argv.slice(2);
writeSync(1, 'begins\n');
const engine = new LevelEngine({ directory });
const { revision } = await restoreBackup(backup, engine, { replace: true });
writeSync(1, `restored ${revision}\n`);
