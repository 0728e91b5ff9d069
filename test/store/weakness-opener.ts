// Opens a database and prints whether it succeeded. Arguments: raw|store, directory.
import { Level } from 'level';
import { openLedger } from './ledger.js';

const [kind, directory = ''] = process.argv.slice(2);
try {
  if (kind === 'raw') {
    const db = new Level(directory);
    await db.open();
    await db.close();
  } else {
    await (await openLedger(directory)).close();
  }
  console.log('opened');
} catch {
  console.log('refused');
}
