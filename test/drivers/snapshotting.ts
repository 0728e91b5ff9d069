// Creates one snapshot of an image volume, for a test that kills it. Arguments: root, journal, volume, handle,
// snapshot.
import { directoryJournal, memoryOperations } from '@kedge/driver-sdk';
import { builtinDrivers } from '@kedge/drivers';

const [localVolumeRoot = '', journal = '', uid = '', handle = '', copy = ''] =
  process.argv.slice(2);
const drivers = builtinDrivers({
  localVolumeRoot,
  hostPathAllowlist: [],
  allowCreateMissing: false,
  journal: directoryJournal(journal),
});
const driver = (await drivers.get('local'))!;
await driver.createSnapshot({
  volume: { uid, name: 'v', namespace: 'default' },
  snapshot: { uid: copy, name: 's', namespace: 'default' },
  handle,
  parameters: { backing: 'image' },
  node: 'n',
  signal: new AbortController().signal,
  operations: memoryOperations(),
});
