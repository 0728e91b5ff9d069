import { mkdirSync } from 'node:fs';
import {
  mkdir,
  mkdtemp,
  open as openFile,
  readFile,
  rm,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { type Clock, silentLogger, systemClock } from 'kedge';
import type { AuditEntry } from 'kedge/server';
import { eventually, FakeClock } from 'kedge/testing';
import { AuditLog, auditFileAt, type AuditLogOptions } from './audit-log.js';
import { PrometheusMetrics } from './prometheus-metrics.js';

const entry = (subject: string, name: string): AuditEntry => ({
  time: '2026-01-01T00:00:00.000Z',
  requestId: 'r',
  subject,
  tokenId: '',
  peer: '127.0.0.1',
  transport: 'grpc',
  method: 'VolumeService.Delete',
  verb: 'delete',
  resource: 'volumes',
  namespace: 'default',
  name,
  stage: 'end',
  code: 'PermissionDenied',
  reason: 'PermissionDenied',
  durationMs: 1,
});

type Line = Partial<AuditEntry> & { readonly dropped?: number };

describe('audit log', () => {
  let directory: string;
  let metrics: PrometheusMetrics;
  before(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-audit-'));
  });
  beforeEach(() => {
    metrics = new PrometheusMetrics();
  });
  after(() => rm(directory, { recursive: true, force: true }));
  const open = (
    file: string,
    warnings: unknown[] = [],
    onRefused = () => {},
    openedBy?: AuditLogOptions['openFile'],
    clock: Clock = systemClock,
  ): AuditLog =>
    new AuditLog({
      ...(openedBy && { openFile: openedBy }),
      file: join(directory, file),
      scope: 'writes',
      logger: {
        ...silentLogger,
        warn: (...args) => void warnings.push(args),
        error: (...args) => {
          warnings.push(args);
          onRefused();
        },
      },
      metrics,
      clock,
      waitingMax: 100,
    });
  const lines = async (file: string): Promise<readonly Line[]> =>
    (await readFile(join(directory, file), 'utf8'))
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line);

  it('a flood of one subject or of unauthenticated callers does not drop entries of others', async () => {
    for (const flooder of ['mallory', '']) {
      const file = `flood-${flooder}.jsonl`;
      const warnings: unknown[] = [];
      const log = open(file, warnings);
      // All entries of this turn wait until it ends.
      log.record(entry('ann', 'first'));
      for (let n = 0; n < 20; n += 1) log.record(entry('ann', `a${n}`));
      for (let n = 0; n < 30_000; n += 1) log.record(entry(flooder, `m${n}`));
      log.record(entry('bob', 'last'));
      await log.close();
      const found = await lines(file);
      const of = (subject: string) => found.filter((line) => line.subject === subject);
      expect(of('ann').length, flooder).to.equal(21);
      expect(of('bob').length, flooder).to.equal(1);
      expect(of(flooder).at(-1)?.name).to.equal('m29999');
      const dropped = found.reduce((sum, line) => sum + (line.dropped ?? 0), 0);
      expect(dropped + of(flooder).length).to.equal(30_000);
      expect(warnings.length).to.equal(1);
      expect(JSON.stringify(warnings)).to.contain(String(dropped));
    }
    expect(await metrics.text()).to.match(/^audit_entries_dropped_total\{cause="full"\} \d+$/m);
  });

  it('entries that the disk refuses are counted, and reported after the next successful write', async () => {
    const warnings: unknown[] = [];
    const log = open('missing/audit.jsonl', warnings);
    log.record(entry('ann', 'lost'));
    await log.close();
    expect(await metrics.text()).to.contain('audit_entries_dropped_total{cause="unwritable"} 1');
    expect(JSON.stringify(warnings)).to.contain('could not be written');
  });

  it('entries that arrive during a failed write are written', async () => {
    const file = 'late/audit.jsonl';
    let isFirst = true;
    const log = open(
      file,
      [],
      () => mkdirSync(join(directory, 'late')),
      (path) => {
        // These entries wait behind the batch whose write fails.
        if (isFirst) for (const name of ['second', 'third']) log.record(entry('ann', name));
        isFirst = false;
        return openFile(path, 'a+');
      },
    );
    log.record(entry('ann', 'lost'));
    await log.close();
    const found = await lines(file);
    expect(found.map(({ name, dropped }) => name ?? dropped)).to.deep.equal([1, 'second', 'third']);
  });

  it('the entries of one turn share one append', async () => {
    let appends = 0;
    const log = open('turn.jsonl', [], undefined, async (file) => {
      const handle = await openFile(file, 'a+');
      const append = handle.appendFile.bind(handle);
      handle.appendFile = (text) => {
        appends += 1;
        return append(text);
      };
      return handle;
    });
    for (const name of ['first', 'second', 'third']) log.record(entry('ann', name));
    await log.close();
    const found = await lines('turn.jsonl');
    expect(found.map(({ name }) => name)).to.deep.equal(['first', 'second', 'third']);
    expect(appends).to.equal(1);
  });

  it('the entries of ten milliseconds share one append, and the close does not wait for the end of the interval', async () => {
    const clock = new FakeClock();
    const appended: string[] = [];
    const openedBy: AuditLogOptions['openFile'] = async (file) => {
      const handle = await openFile(file, 'a+');
      handle.appendFile = (text) => {
        const names = String(text).matchAll(/"name":"(\w+)"/g);
        appended.push([...names].map(([, name]) => name).join(' '));
        return Promise.resolve();
      };
      return handle;
    };
    const log = open('rate.jsonl', [], undefined, openedBy, clock);
    const resting = (): Promise<boolean> =>
      eventually('the interval after an append', () => clock.pending === 1);
    log.record(entry('ann', 'first'));
    await resting();
    for (const name of ['second', 'third']) {
      log.record(entry('ann', name));
      await clock.advance(4);
    }
    expect(appended, 'a single entry is not delayed').to.deep.equal(['first']);
    await clock.advance(2);
    await resting();
    expect(appended).to.deep.equal(['first', 'second third']);
    log.record(entry('ann', 'fourth'));
    await log.close();
    expect(appended).to.deep.equal(['first', 'second third', 'fourth']);
    expect(clock.pending).to.equal(0);
  });

  it('every refused entry is counted, also those that arrived during a failed write', async () => {
    const log = open('missing/audit.jsonl');
    for (const name of ['first', 'second', 'third']) log.record(entry('ann', name));
    await log.close();
    expect(await metrics.text()).to.contain('audit_entries_dropped_total{cause="unwritable"} 3');
  });

  it('a partial write to a full disk leaves no partial line', async () => {
    let isFull = true;
    const warnings: unknown[] = [];
    const log = open('full.jsonl', warnings, undefined, async (file) => {
      const handle = await openFile(file, 'a+');
      const append = handle.appendFile.bind(handle);
      handle.appendFile = async (text) => {
        if (!isFull) return append(text);
        await append(String(text).slice(0, 50));
        throw new Error('ENOSPC: no space left on device, write');
      };
      return handle;
    });
    for (const name of ['first', 'second', 'third']) log.record(entry('ann', name));
    await log.close();
    isFull = false;
    log.record(entry('ann', 'fourth'));
    await log.close();
    const found = await lines('full.jsonl');
    expect(found.map(({ name, dropped }) => name ?? dropped)).to.deep.equal([3, 'fourth']);
    const errors = warnings.filter((warning) =>
      JSON.stringify(warning).includes('could not be written'),
    );
    expect(errors, 'the same error is logged once').to.have.length(1);
  });

  it('an entry does not continue the line that a killed daemon left unfinished', async () => {
    const file = join(directory, 'torn.jsonl');
    await writeFile(file, '{"time":"2026-');
    const log = open('torn.jsonl');
    log.record(entry('ann', 'next'));
    await log.close();
    const [torn, next = ''] = (await readFile(file, 'utf8')).trim().split('\n');
    expect(torn).to.equal('{"time":"2026-');
    expect(JSON.parse(next)).to.include({ name: 'next' });
  });

  it('a link that replaces the file is not followed', async () => {
    const other = join(directory, 'other');
    await writeFile(other, 'precious');
    await symlink(other, join(directory, 'swapped.jsonl'));
    const warnings: unknown[] = [];
    const log = open('swapped.jsonl', warnings);
    log.record(entry('ann', 'lost'));
    await log.close();
    expect(await readFile(other, 'utf8')).to.equal('precious');
    expect(JSON.stringify(warnings)).to.contain('is a symbolic link that kedged does not follow');
  });

  it('a configured link is resolved once, to the file that is rotated', async () => {
    await mkdir(join(directory, 'disk'));
    await writeFile(join(directory, 'disk/real.jsonl'), '');
    await symlink(join(directory, 'disk/real.jsonl'), join(directory, 'link.jsonl'));
    await symlink(join(directory, 'disk'), join(directory, 'folder'));
    const at = (name: string): Promise<string> => auditFileAt(join(directory, name));
    expect(await at('link.jsonl')).to.equal(join(directory, 'disk/real.jsonl'));
    expect(await at('folder/new.jsonl')).to.equal(join(directory, 'disk/new.jsonl'));
    expect(await at('missing/new.jsonl')).to.equal(join(directory, 'missing/new.jsonl'));
  });
});
