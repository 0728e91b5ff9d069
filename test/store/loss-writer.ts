// Writes batches into LevelDB itself until it is killed, and prints the accepted ones. Arguments: directory, seed.
import { writeSync } from 'node:fs';
import { Level } from 'level';
import { batchKey, batchValue, durabilities } from './loss-patterns.js';

const [directory = '', seed = '1'] = process.argv.slice(2);
const encoding = { keyEncoding: 'utf8', valueEncoding: 'utf8' } as const;
const db = new Level<string, string>(directory, { ...encoding, writeBufferSize: 64 * 1024 });
await db.open();
writeSync(1, 'open\n');
let number = 0;
for (const synced of durabilities(Number(seed))) {
  const batch = db.batch();
  for (const part of [0, 1]) batch.put(batchKey(number, part), batchValue(number));
  await batch.write({ sync: synced } as object);
  writeSync(1, `${number}\n`);
  number += 1;
}
