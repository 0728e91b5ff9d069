import { expect } from 'chai';
import { StatusError } from '../../base/index.js';
import { HostileFileSystem } from '../../testing/index.js';
import { explainNoRoom, lockWithReserve, openingBytes, ReserveFolder } from './reserve.js';

const mebibyte = 1024 * 1024;
const directory = '/data';
const folder = `${directory}/reserve`;

async function disk(capacityBytes: number): Promise<HostileFileSystem> {
  const files = new HostileFileSystem({ capacityBytes });
  await files.makeDirectory(directory);
  return files;
}

async function fill(files: HostileFileSystem, leave = 0): Promise<void> {
  const file = await files.open(`${directory}/filler`, 'w');
  await file.write(Buffer.alloc(((await files.freeBytes()) ?? 0) - leave), 0);
  await file.close();
}

async function layAll(reserve: ReserveFolder, bytes: number, keepFree: number): Promise<number> {
  let laid = 0;
  while (await reserve.layPiece(bytes, keepFree)) laid += 1;
  return laid;
}

describe('the reserve of a data directory', () => {
  it('has the configured size, and is incompressible', async () => {
    const files = await disk(100 * mebibyte);
    const reserve = new ReserveFolder(files, directory, () => true);
    expect(await reserve.held()).to.equal(0);
    expect(await layAll(reserve, 8 * mebibyte, 0)).to.equal(4);
    expect(await reserve.held()).to.equal(8 * mebibyte);
    const { deflateSync } = await import('node:zlib');
    const piece = await files.readFile(`${folder}/1`);
    expect(deflateSync(piece.subarray(0, 32_768)).length).to.be.greaterThan(32_000);
  });

  it('leaves the configured free space, and is smaller then', async () => {
    const files = await disk(20 * mebibyte);
    const reserve = new ReserveFolder(files, directory, () => true);
    expect(await layAll(reserve, 8 * mebibyte, 15 * mebibyte)).to.equal(2);
    expect(await reserve.held()).to.equal(4 * mebibyte);
  });

  it('is not allocated by a process without the lock of the directory', async () => {
    const files = await disk(20 * mebibyte);
    expect(await new ReserveFolder(files, directory, () => false).layPiece(mebibyte, 0)).to.equal(
      false,
    );
  });

  it('is released piece by piece, only as much as is needed', async () => {
    const files = await disk(20 * mebibyte);
    const reserve = new ReserveFolder(files, directory, () => true);
    await layAll(reserve, 8 * mebibyte, 0);
    await fill(files);
    expect(await reserve.release(3 * mebibyte)).to.equal(4 * mebibyte);
    expect(await reserve.release(3 * mebibyte)).to.equal(0);
    expect(await reserve.held()).to.equal(4 * mebibyte);
    expect(await reserve.release(100 * mebibyte)).to.equal(4 * mebibyte);
    expect(await reserve.held()).to.equal(0);
  });

  it('allocates removed or truncated pieces again', async () => {
    const files = await disk(100 * mebibyte);
    const reserve = new ReserveFolder(files, directory, () => true);
    await layAll(reserve, 8 * mebibyte, 0);
    await files.remove(`${folder}/2`);
    await (await files.open(`${folder}/4`, 'w')).close();
    expect(await layAll(reserve, 8 * mebibyte, 0)).to.equal(2);
    expect(await reserve.held()).to.equal(8 * mebibyte);
  });

  it('removes a piece that turns out not to fit', async () => {
    const files = await disk(100 * mebibyte);
    const reserve = new ReserveFolder(files, directory, () => true);
    await layAll(reserve, 4 * mebibyte, 0);
    await fill(files, 1);
    await files.remove(`${folder}/3`);
    // Another program uses the space between the measurement and the write.
    const freeBytes = files.freeBytes.bind(files);
    files.freeBytes = async () => {
      const free = (await freeBytes()) ?? 0;
      const other = await files.open(`${directory}/other`, 'w');
      await other.write(Buffer.alloc(free), 0);
      return free;
    };
    const error: unknown = await reserve.layPiece(4 * mebibyte, 0).catch((e: unknown) => e);
    expect(String(error)).to.contain('ENOSPC');
    expect(await files.exists(`${folder}/3`)).to.equal(false);
  });

  describe('at the lock of the directory', () => {
    const full = new StatusError({ code: 'Unavailable', reason: 'LockUnavailable', message: '' });
    const inUse = new StatusError({
      code: 'FailedPrecondition',
      reason: 'DirectoryLocked',
      message: 'in use by process 7',
    });

    it('is released if the lock lacks space, and the lock is retried', async () => {
      const files = await disk(50 * mebibyte);
      const reserve = new ReserveFolder(files, directory, () => true);
      await layAll(reserve, 32 * mebibyte, 0);
      await fill(files);
      const lock = async (): Promise<string> => {
        if ((await files.freeBytes()) === 0) throw full;
        return 'taken';
      };
      expect(await lockWithReserve(lock, reserve)).to.equal('taken');
      expect(await files.freeBytes()).to.be.at.least(openingBytes);
      expect(await reserve.held()).to.be.greaterThan(0);
    });

    it('stays complete if another process holds the directory', async () => {
      const files = await disk(50 * mebibyte);
      const reserve = new ReserveFolder(files, directory, () => true);
      await layAll(reserve, 32 * mebibyte, 0);
      await fill(files);
      const lock = (): Promise<string> => Promise.reject(inUse);
      expect(await lockWithReserve(lock, reserve).catch((e: unknown) => e)).to.equal(inUse);
      expect(await reserve.held()).to.equal(32 * mebibyte);
    });
  });

  it('if it is used up, the error names the directory, the free bytes and the remedy', async () => {
    const files = await disk(mebibyte);
    await fill(files, 12);
    const explained = await explainNoRoom(new Error('No space left on device'), files, directory);
    if (!(explained instanceof StatusError)) return expect.fail(String(explained));
    expect(explained.reason).to.equal('NoRoomToOpen');
    expect(explained.message).to.match(/\/data is full: 12 bytes are free.*remove or move files/);
    const other = new Error('EACCES');
    expect(await explainNoRoom(other, files, directory)).to.equal(other);
  });
});
