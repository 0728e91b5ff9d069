// Opens a store and prints the outcome: "holds", then it keeps the store until it is killed, or the refusal as
// JSON. Arguments: data directory.
import { StatusError } from 'kedge';
import { openLedger, put } from './ledger.js';

const [directory = ''] = process.argv.slice(2);
try {
  const store = await openLedger(directory);
  await put(store, `pid-${process.pid}`, process.pid);
  console.log('holds');
  setInterval(() => undefined, 60_000);
} catch (error) {
  if (!(error instanceof StatusError)) throw error;
  console.log(JSON.stringify({ reason: error.reason, message: error.message }));
}
