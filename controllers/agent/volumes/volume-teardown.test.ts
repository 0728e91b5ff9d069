import { expect } from 'chai';
import { FakeClock, RecordingLogger, settle } from 'kedge/testing';
import { DriverError, type DriverErrorKind } from '@kedge/driver-sdk';
import type { Volume } from '../../volume/kind.js';
import { defaultPolicy } from '../../policy/policy.js';
import { tearDownVolumes } from './volume-teardown.js';

const metadata = { uid: 'u', resourceVersion: '1', generation: 1, createdAt: '', updatedAt: '' };
const volumeOf = (name: string): Volume => ({
  name,
  namespace: 'default',
  storageClassName: 'c',
  size: '1',
  accessMode: 'ReadWriteOnce',
  metadata,
});

describe('the teardown of volumes at shutdown', () => {
  let clock: FakeClock;
  let logger: RecordingLogger;
  beforeEach(() => {
    clock = new FakeClock();
    logger = new RecordingLogger();
  });

  /** Returns a volume whose first `failures` releases fail. It counts all releases in `tries`. */
  const failing = (name: string, kind: DriverErrorKind, failures: number) => {
    const step = {
      volume: volumeOf(name),
      tries: 0,
      release: (): Promise<boolean> => {
        step.tries++;
        if (step.tries > failures) return Promise.resolve(true);
        return Promise.reject(new DriverError(kind, `busy, held by pid ${step.tries}`));
      },
    };
    return step;
  };
  const lines = () => logger.lines.map(({ message, fields }) => ({ msg: message, ...fields }));

  it('specification 8: each volume has the whole budget, and a volume in use is retried within it', async () => {
    const busy = failing('busy', 'InUse', 5);
    const free = failing('free', 'InUse', 0);
    const down = tearDownVolumes([busy, free], 20_000, { clock, logger, policy: defaultPolicy });
    await clock.advance(10_000);
    await down;
    expect([busy.tries, free.tries]).to.deep.equal([6, 1]);
    expect(lines()).to.deep.equal([{ msg: 'All volumes torn down', detached: 2, total: 2 }]);
  });

  it('ends with the budget, and names the last error', async () => {
    const busy = failing('busy', 'InUse', Infinity);
    const free = failing('free', 'Unavailable', 1);
    let ended = false;
    const down = tearDownVolumes([busy, free], 20_000, {
      clock,
      logger,
      policy: defaultPolicy,
    }).then(() => (ended = true));
    await clock.advance(19_000);
    expect(ended).to.equal(false);
    await clock.advance(1_000);
    await down;
    const message = `busy, held by pid ${busy.tries}`;
    expect(lines()).to.deep.equal([
      { msg: 'volume stays attached', volume: 'default/busy', error: message },
      { msg: 'Volume teardown incomplete', released: 1, total: 2 },
    ]);
    expect(busy.tries).to.be.within(10, 20);
  });

  it('does not retry a release that can not succeed', async () => {
    const refused = failing('refused', 'CredentialsRejected', Infinity);
    await tearDownVolumes([refused], 20_000, { clock, logger, policy: defaultPolicy });
    expect(refused.tries).to.equal(1);
  });

  it('does not count volumes that were released before according to the store', async () => {
    const before = { volume: volumeOf('before'), release: () => Promise.resolve(false) };
    const ports = { clock, logger, policy: defaultPolicy };
    await tearDownVolumes([failing('a', 'InUse', 0), before], 1_000, ports);
    expect(lines()).to.deep.equal([{ msg: 'All volumes torn down', detached: 1, total: 1 }]);
  });

  it('abandons a release that hangs', async () => {
    const hung = { volume: volumeOf('hung'), release: () => new Promise<boolean>(() => undefined) };
    const down = tearDownVolumes([hung], 1_000, { clock, logger, policy: defaultPolicy });
    await clock.advance(1_000);
    await down;
    await settle();
    expect(lines()[0]).to.include({ error: 'the shutdown budget has ended' });
  });

  it('with a spent budget logs one warning, and no summary', async () => {
    const step = failing('v', 'InUse', 0);
    await tearDownVolumes([step], 0, { clock, logger, policy: defaultPolicy });
    expect(step.tries).to.equal(0);
    expect(lines()).to.have.length(1);
  });
});
