import { expect } from 'chai';
import { memoryOperations, untilOver } from '@kedge/driver-sdk';
import { pauseOn } from '@kedge/driver-sdk/provider';
import { builtinDrivers } from '@kedge/drivers';
import { type RunningEmulator, startEmulator } from '../index.js';
import { emulatedProject } from '../cloud4/service-account.js';
import { sweepAccount } from '../sweep/emulated-cloud.js';
import { clockOfShortPolls } from './served-cloud.js';

const zone = 'europe-west3-a';

describe('cloud4-disk on an instance with a service account', function () {
  this.timeout(120_000);
  const before = { ...process.env };
  let running: RunningEmulator;

  beforeEach(async () => {
    running = await startEmulator({
      provider: 'cloud4',
      actionMs: 10,
      instances: [{ name: 'worker-1', place: zone }],
      tokens: [sweepAccount.token],
      metadata: { instance: 'worker-1' },
    });
    process.env['GCE_METADATA_HOST'] = new URL(running.metadata!.endpoint).host;
  });
  afterEach(async () => {
    process.env = { ...before };
    await running.close();
  });

  it('takes the project and tokens from the metadata server (2.5, 5.3)', async () => {
    const driver = await builtinDrivers({
      localVolumeRoot: '/nowhere',
      hostPathAllowlist: [],
      allowCreateMissing: false,
      node: 'worker-1',
      clusterId: 'cluster-1',
      drivers: { 'cloud4-disk': { endpoint: running.endpoint } },
    }).get('cloud4-disk');
    const request = {
      volume: { uid: 'u-1', name: 'data', namespace: 'shop' },
      parameters: { zone },
      node: 'worker-1',
      signal: new AbortController().signal,
      operations: memoryOperations(),
    };
    const wait = (ms: number): Promise<void> => pauseOn(clockOfShortPolls, ms, request.signal);
    const sized = { sizeBytes: 1n, accessMode: 'ReadWriteOnce', topology: {} } as const;
    const made = await untilOver(() => driver!.provision({ ...request, ...sized }), wait);
    expect(made.handle).to.equal(`projects/${emulatedProject}/zones/${zone}/disks/kedge-u-1`);
    expect(running.requests.every(({ token }) => token === sweepAccount.token.name)).to.equal(true);
    const tokens = running.metadata!.server.requests.filter((path) => path.endsWith('/token'));
    expect(tokens).to.have.length(1);
    await untilOver(() => driver!.delete({ ...request, handle: made.handle }), wait);
    expect(await running.inventory()).to.deep.equal([]);
    expect(running.emulator.violations).to.deep.equal([]);
  });
});
