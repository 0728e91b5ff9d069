// A kedged with a monitored event loop. Argument: data directory. Prints its port and a token, its memory and revision
// for each line of its standard input, and all measurements when the input ends.
import type { resolveSettings } from '../../../cmd/kedged/config/settings.js';
import type { startDaemon } from '../../../cmd/kedged/wire.js';
import { bootstrap } from 'kedge/auth';
import { type ObjectStore, silentLogger } from 'kedge';
import { type Slices, watchSlices } from '../measuring/slices.js';

/** The final output, which {@link run} of volumes.ts reads. */
export interface VolumesReport {
  readonly slices: Slices;
  readonly residentBytes: number;
  /** That of the store, which rises by one with each transaction. */
  readonly revision: number;
}

interface Composition {
  readonly resolveSettings: typeof resolveSettings;
  readonly startDaemon: typeof startDaemon;
}

/** The daemon's composition root is not a library: it is loaded from the build output. */
async function composition(): Promise<Composition> {
  const load = async (name: string): Promise<object> =>
    (await import(
      new URL(`../../../../cmd/dist/kedged/${name}.js`, import.meta.url).href
    )) as object;
  return { ...(await load('config/settings')), ...(await load('wire')) } as Composition;
}

const [dataDirectory = ''] = process.argv.slice(2);
const kedged = await composition();
const any = '127.0.0.1:0';
const config = kedged.resolveSettings({
  flags: {
    'store.path': dataDirectory,
    'server.grpcAddress': any,
    'server.restAddress': any,
    'server.opsAddress': any,
  },
  environment: {},
  file: {},
  profile: {},
});
let token = '';
let objects: ObjectStore | undefined;
const report = (): Omit<VolumesReport, 'slices'> => ({
  residentBytes: process.memoryUsage().rss,
  revision: objects?.revision ?? NaN,
});
const daemon = await kedged.startDaemon(config, silentLogger, async (store) => {
  objects = store;
  token = await bootstrap(store);
});
console.log(JSON.stringify({ rest: daemon.ports.rest, token }));
/** Each input requests a report after a garbage collection; the end of the input stops the process. */
const slices = await watchSlices(
  () =>
    new Promise<void>((resolve) => {
      process.stdin.on('data', () => {
        global.gc?.();
        console.log(JSON.stringify(report()));
      });
      process.stdin.on('end', resolve);
    }),
);
console.log(JSON.stringify({ slices, ...report() }));
await daemon.stop(10_000);
