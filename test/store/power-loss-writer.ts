// Writes until it is killed and prints the acknowledged writes. Arguments: directory, start, sync|nosync.
import { writeSync } from 'node:fs';
import { hasCode } from 'kedge';
import { eventually } from 'kedge/testing';
import { entries, openLedger, pad, put } from './ledger.js';

const [directory = '', start = '0', sync = 'sync'] = process.argv.slice(2);
const store = await openLedger(directory, { noSync: sync === 'nosync' });
await put(store, 'counter', 0);
writeSync(1, 'open\n');
let n = Number(start);

/** A failed sync poisons the store for half a second; refused writes are not acknowledged then. */
async function unlessRefused(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (error) {
    if (!hasCode(error, 'Unavailable')) throw error;
    await eventually('the store to be reopened', () => store.health().state === 'serving', 60_000);
    return false;
  }
}

const lane = async (): Promise<void> => {
  for (;;) {
    const value = (n += 1);
    const name = `e${value}`;
    // Pairs show a torn transaction; single writes and overwrites create garbage for compactions.
    const written = await unlessRefused(
      store.transact(
        [name, `${name}-twin`].map((twin) => ({
          op: 'create',
          kind: entries,
          object: { name: twin, value, pad: pad(value) },
        })),
      ),
    );
    if (written) writeSync(1, `${value}\n`);
    if (value % 10 === 0) await unlessRefused(put(store, 'counter', value));
    // A failed compaction has dropped a part; the next one continues.
    if (value % 150 === 0) await store.compact().catch(() => undefined);
  }
};
await Promise.all(Array.from({ length: 8 }, lane));
