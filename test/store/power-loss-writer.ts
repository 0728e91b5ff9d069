// Writes until it is killed; says on its output what was acknowledged. Arguments: directory, start, sync|nosync.
import { writeSync } from 'node:fs';
import { entries, openLedger, pad, put } from './ledger.js';

const [directory = '', start = '0', sync = 'sync'] = process.argv.slice(2);
const store = await openLedger(directory, { noSync: sync === 'nosync' });
await put(store, 'counter', 0);
writeSync(1, 'open\n');
let n = Number(start);
const lane = async (): Promise<void> => {
  for (;;) {
    const value = (n += 1);
    const name = `e${value}`;
    // Pairs show a torn transaction; single writes and overwrites make garbage to compact.
    await store.transact(
      [name, `${name}-twin`].map((twin) => ({
        op: 'create',
        kind: entries,
        object: { name: twin, value, pad: pad(value) },
      })),
    );
    writeSync(1, `${value}\n`);
    if (value % 10 === 0) await put(store, 'counter', value);
    if (value % 400 === 0) await store.compact();
  }
};
await Promise.all(Array.from({ length: 8 }, lane));
