import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { StatusError } from '../../base/index.js';
import { DamageError, openingError, readingError } from './database-error.js';
import { LevelEngine, levelDriver, nodeFileSystem, openStore } from '../index.js';

function error(message: string, code?: string): Error {
  return Object.assign(new Error(message), code === undefined ? {} : { code });
}

/** System errors, as Node.js and LevelDB report them. */
const systemErrors: readonly (readonly [string, string])[] = [
  ['ESTALE', 'Stale file handle'],
  ['ENOMEM', 'Cannot allocate memory'],
  ['ENOTCONN', 'Transport endpoint is not connected'],
  ['ETIMEDOUT', 'Connection timed out'],
  ['EMFILE', 'Too many open files'],
  ['ENFILE', 'Too many open files in system'],
  ['EINTR', 'Interrupted system call'],
  ['EAGAIN', 'Resource temporarily unavailable'],
  ['EIO', 'Input/output error'],
  ['ENOSPC', 'No space left on device'],
  ['EUCLEAN', 'Structure needs cleaning'],
];

describe('the cause of a failed opening of a database', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'kedge-opening-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  for (const [code, text] of systemErrors)
    it(`${code} is named, is not reported as damage, and may be transient`, async () => {
      const ofLevel = error(`IO error: ${directory}/db/MANIFEST-000002: ${text}`, 'LEVEL_IO_ERROR');
      const ofNode = error(`${code}: ${text}, open 'x'`, code);
      const opening = [
        { driver: { ...levelDriver, open: () => Promise.reject(ofLevel) } },
        { fileSystem: { ...nodeFileSystem, readDirectory: () => Promise.reject(ofNode) } },
        { fileSystem: { ...nodeFileSystem, makeDirectory: () => Promise.reject(ofNode) } },
      ];
      for (const options of opening) {
        const failed: unknown = await openStore({
          engine: new LevelEngine({ directory, ...options }),
        }).catch((e: unknown) => e);
        const { reason, message } = failed as StatusError;
        expect(reason, message).to.equal('DatabaseUnavailable');
        expect(message).to.contain(text).and.contain('retry').and.not.contain('backup');
      }
      expect(readingError('db', ofLevel).reason).to.equal('DatabaseUnavailable');
      await (await openStore({ engine: new LevelEngine({ directory }) })).close();
    });

  it('only proven damage is reported as damage', () => {
    const proofs = [
      new DamageError('000005.ldb: the block at byte 0 has a wrong checksum'),
      error('Corruption: checksum mismatch', 'LEVEL_CORRUPTION'),
      error('Corruption: CURRENT file does not end with newline'),
      error('IO error: db/000005.ldb: No such file or directory', 'LEVEL_IO_ERROR'),
      error('IO error: db/000005.ldb: Invalid argument', 'LEVEL_IO_ERROR'),
    ];
    for (const proof of proofs) {
      expect(openingError('db', proof).reason, proof.message).to.equal('Damaged');
      expect(readingError('db', proof).reason, proof.message).to.equal('Damaged');
    }
  });

  it('is in use only if the system reports a held lock', () => {
    const lock = (text: string): string | undefined =>
      openingError('db', error(`IO error: lock db/LOCK: ${text}`, 'LEVEL_LOCKED')).reason;
    expect(lock('Resource temporarily unavailable')).to.equal('DirectoryLocked');
    expect(lock('already held by process')).to.equal('DirectoryLocked');
    for (const text of ['No locks available', 'Stale file handle', 'Cannot allocate memory'])
      expect(lock(text), text).to.equal('DatabaseUnavailable');
  });
});
