import { Readable } from 'node:stream';
import { isJsonObject } from 'kedge/rpc';
import { EngineError } from '../engine/engine-error.js';

/** Maximum number of names in an archive: the engine rewrites the list of all its names for each of them. */
export const archiveNamesMax = 1_000;
/** Maximum size of a list of images: far beyond that of the maximum of names. */
const listBytesMax = 4 * 1_048_576;
const blockBytes = 512;
/** Lists of the images of an archive, as `docker save` writes them: its own, and that of OCI. */
const lists = ['manifest.json', 'index.json'];

/**
 * Reads the lists of images in a tar archive of `docker save` while it passes, and ends it with an error if they have
 * too many names. The engine loads nothing of an archive that is cut off. Compressed archives pass unread.
 */
export class ArchiveNames {
  /** The reason why the archive was cut off; undefined if it was not. */
  refusal: EngineError | undefined;
  #header = Buffer.alloc(0);
  /** Bytes that remain of a file, with those that fill its last block. */
  #left = 0;
  /** The parts of the list that is read, and the bytes that it still lacks; undefined within other files. */
  #list: { readonly parts: Buffer[]; lacking: number } | undefined;
  #isTar = true;

  /** The same archive. Its error is {@link refusal}. */
  pass(tar: Readable): Readable {
    return Readable.from(this.#pieces(tar), { objectMode: false });
  }

  async *#pieces(tar: Readable): AsyncGenerator<Buffer> {
    for await (const piece of tar as AsyncIterable<Buffer>) {
      if (this.#isTar) this.#read(piece);
      if (this.refusal !== undefined) throw this.refusal;
      yield piece;
    }
  }

  #read(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0 && this.#isTar && this.refusal === undefined) {
      if (this.#left > 0) {
        const part = rest.subarray(0, this.#left);
        this.#left -= part.length;
        rest = rest.subarray(part.length);
        this.#keep(part);
        continue;
      }
      const missing = blockBytes - this.#header.length;
      this.#header = Buffer.concat([this.#header, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      if (this.#header.length < blockBytes) return;
      this.#begin(this.#header);
      this.#header = Buffer.alloc(0);
    }
  }

  /** Begins a file at its header (POSIX.1-1988, ustar). */
  #begin(header: Buffer): void {
    // The end of an archive is empty blocks.
    if (header.every((byte) => byte === 0)) return;
    const size = Number.parseInt(textAt(header, 124, 12).trim() || '0', 8);
    // A magic number that is missing, or a size that is not octal: no tar archive, or a file of 8 GiB and more.
    if (textAt(header, 257, 5) !== 'ustar' || Number.isNaN(size)) {
      this.#isTar = false;
      return;
    }
    this.#left = Math.ceil(size / blockBytes) * blockBytes;
    if (!lists.includes(textAt(header, 0, 100).replace(/^\.\//, ''))) return;
    if (size > listBytesMax) this.refusal = tooMany(`a list of images of ${size} bytes`);
    else this.#list = { parts: [], lacking: size };
  }

  #keep(part: Buffer): void {
    if (this.#list === undefined) return;
    this.#list.parts.push(part.subarray(0, this.#list.lacking));
    this.#list.lacking -= part.length;
    if (this.#list.lacking > 0) return;
    const count = namesIn(Buffer.concat(this.#list.parts).toString());
    this.#list = undefined;
    if (count > archiveNamesMax) this.refusal = tooMany(`${count} names of images`);
  }
}

function tooMany(what: string): EngineError {
  return new EngineError(
    'Failed',
    `the tar archive has ${what}, and at most ${archiveNamesMax} names can be loaded at once; save fewer names to each archive: docker save -o FILE IMAGE`,
  );
}

function textAt(header: Buffer, offset: number, length: number): string {
  const [text = ''] = header.toString('latin1', offset, offset + length).split('\0');
  return text;
}

/** The number of names in a list of images; 0 for a text that is none, which the engine refuses. */
function namesIn(text: string): number {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    return 0;
  }
  if (isJsonObject(list)) return Array.isArray(list.manifests) ? list.manifests.length : 0;
  if (!Array.isArray(list)) return 0;
  const images: readonly unknown[] = list;
  return images
    .filter(isJsonObject)
    .reduce((sum, { RepoTags: tags }) => sum + (Array.isArray(tags) ? tags.length : 0), 0);
}
