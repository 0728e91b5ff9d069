// Opens a store for the first time, and closes it. Arguments: data directory.
import { writeSync } from 'node:fs';
import { openLedger } from './ledger.js';

const [directory = ''] = process.argv.slice(2);
writeSync(1, 'begins\n');
await (await openLedger(directory)).close();
writeSync(1, 'closed\n');
