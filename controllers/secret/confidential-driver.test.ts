import { randomBytes } from 'node:crypto';
import { expect } from 'chai';
import { StatusError } from 'kedge';
import {
  type Driver,
  DriverError,
  memoryOperations,
  type SynchronousDriver,
  synchronousDriver,
} from '@kedge/driver-sdk';
import { PlayedDriver } from '../testing/played-driver.js';
import { confidentialDriver, shownHandle } from './confidential-driver.js';
import { Redaction } from './redaction.js';
import { isSealed, mask, Sealer } from './sealer.js';

const wanted = {
  hostPath: 'secret:place/path',
  token: 'secret:t/k',
  no: 'secret:n/k',
  size: 'big',
};
const resolved = { hostPath: '/srv/hidden', token: 'a"b c/d', no: 'no', size: 'big' };
const redaction = new Redaction(wanted, resolved);

describe('redaction', () => {
  it('replaces every value that was resolved, also quoted, and nothing else', () => {
    expect(redaction.text('stat /srv/hidden/x: no such file, big')).to.equal(
      `stat ${mask}/x: ${mask} such file, big`,
    );
    expect(redaction.text(JSON.stringify({ t: resolved.token }))).to.equal(`{"t":"${mask}"}`);
    expect(redaction.text(`?t=${encodeURIComponent(resolved.token)}`)).to.equal(`?t=${mask}`);
    expect(redaction.text('nothing known'), 'a short value is a word').to.equal('nothing known');
  });

  it('replaces every value that an answer quotes again, or has in base64', () => {
    const long = new Redaction({ key: 'secret:k/k' }, { key: 'k"long/secret' });
    const inJson = JSON.stringify({ body: JSON.stringify({ key: 'k"long/secret' }) });
    expect(long.text(inJson)).to.equal(`{"body":"{\\"key\\":\\"${mask}\\"}"}`);
    expect(long.text(`?k=${encodeURIComponent(encodeURIComponent('k"long/secret'))}`)).to.equal(
      `?k=${mask}`,
    );
    const basic = Buffer.from('user:k"long/secret').toString('base64');
    expect(long.text(`Basic ${basic}`)).to.match(/^Basic dXNlcj.{0,2}\*{8}.{0,2}$/);
    expect(long.holds(`h-${basic}`)).to.equal(true);
    expect(long.holds('h-1')).to.equal(false);
  });

  it('replaces the longer of two values of which one contains the other', () => {
    const both = new Redaction({ a: 'secret:a/a', b: 'secret:b/b' }, { a: 'abcd', b: 'abcdef' });
    expect(both.text('abcdef')).to.equal(mask);
  });

  it('replaces values in the calls of a provider, of errors and of Pending answers', async () => {
    const call = { at: 0, method: 'GET', path: '/v2?region=/srv/hidden', durationMs: 1 };
    const calls = [{ ...call, path: `/v2?region=${mask}` }];
    const error = redaction.error(new DriverError('Timeout', 'late', { calls: [call] }));
    expect(error).to.deep.include({ calls });
    const pending = { type: 'pending', pollAfterMs: 5_000 } as const;
    const answer = await redaction.guard(() => Promise.resolve({ ...pending, calls: [call] }));
    expect(answer).to.deep.equal({ ...pending, calls });
  });

  it('keeps the kind of an error, and drops its cause', () => {
    const cause = new Error('/srv/hidden');
    const redacted = redaction.error(
      new DriverError('Throttled', 'at /srv/hidden', { cause, retryAfterMs: 5 }),
    ) as DriverError;
    expect(redacted).to.include({ kind: 'Throttled', message: `at ${mask}`, retryAfterMs: 5 });
    expect(redacted.cause).to.equal(undefined);
    const facts = { retryElsewhere: true, limit: 7, requestId: 'r', remedy: 'wait' };
    expect(redaction.error(new DriverError('QuotaExceeded', 'full', facts))).to.include(facts);
    expect(redaction.error(new Error('ENOENT /srv/hidden'))).to.include({
      kind: 'Internal',
      message: `ENOENT ${mask}`,
    });
    const conflict = new StatusError({ code: 'Aborted', reason: 'Conflict', message: 'again' });
    expect(redaction.error(conflict)).to.equal(conflict);
  });
});

describe('a driver as controllers call it', () => {
  const sealer = new Sealer(randomBytes(32));
  const handles: (string | undefined)[] = [];
  let driver: SynchronousDriver;
  const context = {
    volume: { uid: 'u', name: 'v', namespace: 'default' },
    parameters: resolved,
    node: 'n',
    signal: new AbortController().signal,
    operations: memoryOperations(),
  };
  beforeEach(async () => {
    const played = (await new PlayedDriver().registry().get('played'))!;
    const named: Driver = {
      ...played,
      provision: ({ sizeBytes }) => Promise.resolve({ handle: '/srv/hidden/v', sizeBytes }),
      attach: ({ handle }) => {
        handles.push(handle);
        return Promise.reject(new DriverError('NotFound', `${handle ?? ''} is gone`));
      },
    };
    driver = synchronousDriver(confidentialDriver(named, redaction, sealer), () =>
      Promise.resolve(),
    );
  });

  it('returns handles without confidential parts, and receives the original ones', async () => {
    const { handle } = await driver.provision({
      ...context,
      sizeBytes: 1n,
      accessMode: 'ReadWriteOnce',
      topology: {},
    });
    expect(isSealed(handle)).to.equal(true);
    expect(handle).to.not.contain('hidden');
    expect(shownHandle(handle)).to.equal(mask);
    const error = await driver.attach({ ...context, handle }).catch((e: unknown) => e);
    expect(handles).to.deep.equal(['/srv/hidden/v']);
    expect(error).to.include({ kind: 'NotFound', message: `${mask}/v is gone` });
  });

  it('keeps handles without confidential values', async () => {
    const plain = confidentialDriver(driver, new Redaction({}, {}), sealer);
    const error = await plain.attach({ ...context, handle: 'vol-1' }).catch((e: unknown) => e);
    expect(handles.at(-1)).to.equal('vol-1');
    expect(error).to.include({ message: 'vol-1 is gone' });
    expect(shownHandle('vol-1')).to.equal('vol-1');
  });

  it('returns what a driver reports about a class, without confidential values', async () => {
    const row = { permission: 'hostPath /srv/hidden', state: 'ok', needed: 'it' } as const;
    const asked: Driver = {
      ...driver,
      provider: 'Somewhere',
      check: () => Promise.resolve([{ ...row, message: 'saw /srv/hidden' }]),
      orphans: () => Promise.resolve({ resources: [], warnings: ['not in /srv/hidden'] }),
      recentCalls: () => [],
    };
    const { signal } = context;
    const request = { parameters: resolved, node: 'n', signal };
    const wrapped = confidentialDriver(asked, redaction, sealer);
    expect(await wrapped.check?.(request)).to.deep.equal([
      { ...row, permission: `hostPath ${mask}`, message: `saw ${mask}` },
    ]);
    expect((await wrapped.orphans?.(request))?.warnings).to.deep.equal([`not in ${mask}`]);
    expect(wrapped.provider).to.equal('Somewhere');
    expect(wrapped.recentCalls?.('u')).to.deep.equal([]);
  });

  it('calls the optional methods of a driver that is an object of a class', async () => {
    class Made {
      readonly #row = { permission: 'p', state: 'ok', needed: 'it' } as const;
      readonly name = 'made';
      loads = 0;
      readonly capabilities = driver.capabilities.bind(driver);
      load(): Promise<void> {
        this.loads += 1;
        return Promise.resolve();
      }
      check() {
        return Promise.resolve([this.#row]);
      }
      orphans() {
        return Promise.resolve({ resources: [], warnings: [this.#row.permission] });
      }
      find() {
        return Promise.resolve({ handle: this.#row.permission, sizeBytes: undefined });
      }
      recentCalls() {
        return [{ at: 0, method: 'GET', path: this.#row.permission, durationMs: 1 }];
      }
    }
    const made = new Made();
    const wrapped = confidentialDriver(made as unknown as Driver, redaction, sealer);
    await wrapped.load?.();
    expect(made.loads).to.equal(1);
    const request = { parameters: resolved, node: 'n', signal: context.signal };
    expect(await wrapped.check?.(request)).to.have.length(1);
    expect((await wrapped.orphans?.(request))?.warnings).to.deep.equal(['p']);
    expect(wrapped.recentCalls?.('u')).to.have.length(1);
    const found = await wrapped.find?.({} as Parameters<NonNullable<Driver['find']>>[0]);
    expect(found).to.have.property('handle', 'p');
  });
});
