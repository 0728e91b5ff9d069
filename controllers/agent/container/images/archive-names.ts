import { Readable } from 'node:stream';
import { isJsonObject } from 'kedge/rpc';
import { EngineError } from '../engine/engine-error.js';
import { blockBytes, hasContent, lastPart, readHeader, readPax, textOf } from './tar-header.js';

/** Maximum number of names in an archive: the engine rewrites the list of all its names for each of them. */
export const archiveNamesMax = 1_000;
/** Maximum size of a list of images: far beyond that of the maximum of names. */
const listBytesMax = 4 * 1_048_576;
/** Maximum size of a header of pax and of a long name of GNU. */
const extensionBytesMax = 1_048_576;
/** Maximum length of a path, that of Linux: the time to resolve longer ones has no bound. */
const nameBytesMax = 4_096;
/** Lists of the images of an archive, as `docker save` writes them: its own, that of OCI, and that of older releases. */
const lists = ['manifest.json', 'index.json', 'repositories'];

/** The path and the size that a header of pax gives to the next entry. */
interface PaxValues {
  readonly path?: string;
  readonly bytes?: number | undefined;
}

/** Content that is kept until it is complete: a list, or a header that describes the next entry. */
interface Kept {
  readonly kind: 'list' | 'pax' | 'name';
  /** The name of the list. */
  readonly name: string;
  readonly parts: Buffer[];
  lacking: number;
}

/**
 * Reads the lists of images in a tar archive of `docker save` while it passes, and ends it with an error if they have
 * too many names. The engine loads nothing of an archive that is cut off. Compressed archives pass unread.
 *
 * A list should not be hidden from this count and found by the engine. So a file in any folder is a list if it has the
 * name of one, since the folder may be a link to the root, and what `docker save` does not write is refused: lists that
 * are links, and sparse files.
 */
export class ArchiveNames {
  /** The reason why the archive was cut off; undefined if it was not. */
  refusal: EngineError | undefined;
  #header = Buffer.alloc(0);
  /** Bytes that remain of a file, with those that fill its last block. */
  #left = 0;
  #kept: Kept | undefined;
  /** Values for the next entry. The last header of a kind replaces those before it. */
  #pax: PaxValues = {};
  #longName = '';
  /** The block that is read next. Before the first header it may be a compressed archive. */
  #next: 'first header' | 'header' | 'second empty block' | 'nothing' = 'first header';

  /** The same archive. Its error is {@link refusal}. */
  pass(tar: Readable): Readable {
    return Readable.from(this.#pieces(tar), { objectMode: false });
  }

  async *#pieces(tar: Readable): AsyncGenerator<Buffer> {
    for await (const piece of tar as AsyncIterable<Buffer>) {
      this.#read(piece);
      if (this.refusal !== undefined) throw this.refusal;
      yield piece;
    }
  }

  #read(piece: Buffer): void {
    let rest = piece;
    while (rest.length > 0 && this.#next !== 'nothing' && this.refusal === undefined) {
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

  /** Begins an entry at its header. */
  #begin(block: Buffer): void {
    if (block.every((byte) => byte === 0)) {
      // Two of them are the end of an archive.
      this.#next = this.#next === 'second empty block' ? 'nothing' : 'second empty block';
      return;
    }
    const header = readHeader(block);
    if (header === undefined) {
      if (this.#next === 'first header') this.#next = 'nothing';
      else this.refusal = refused('a damaged header');
      return;
    }
    this.#next = 'header';
    const { type } = header;
    if (type === 'x' || type === 'L' || type === 'K') {
      this.#left = padded(header.bytes);
      if (header.bytes > extensionBytesMax)
        this.refusal = refused(`a header of ${header.bytes} bytes`);
      else if (type !== 'K') this.#keepNext(type === 'x' ? 'pax' : 'name', '', header.bytes);
      return;
    }
    const { path = '', bytes: givenBytes } = this.#pax;
    const longName = this.#longName;
    this.#pax = {};
    this.#longName = '';
    if (type === 'g') {
      this.#left = padded(header.bytes);
      return;
    }
    const isFile = hasContent(type, longName || path || header.path);
    const bytes = isFile ? (givenBytes ?? header.bytes) : 0;
    const names = [...header.names, lastPart(path), lastPart(longName)];
    this.#left = padded(bytes);
    const list = lists.find((name) => names.includes(name));
    if (type === 'S') this.refusal = refused('a sparse file');
    else if (list === undefined) return;
    else if (type === '1' || type === '2') this.refusal = refused(`${list} as a link`);
    else if (bytes > listBytesMax) this.refusal = tooMany(`a list of images of ${bytes} bytes`);
    else if (isFile) this.#keepNext('list', list, bytes);
  }

  #keepNext(kind: Kept['kind'], name: string, lacking: number): void {
    this.#kept = { kind, name, parts: [], lacking };
    if (lacking === 0) this.#keep(Buffer.alloc(0));
  }

  #keep(part: Buffer): void {
    const kept = this.#kept;
    if (kept === undefined) return;
    kept.parts.push(part.subarray(0, kept.lacking));
    kept.lacking -= Math.min(part.length, kept.lacking);
    if (kept.lacking > 0) return;
    this.#kept = undefined;
    const content = Buffer.concat(kept.parts);
    if (kept.kind === 'list') this.#count(kept.name, content);
    else if (kept.kind === 'name') this.#longName = this.#named(textOf(content));
    else this.#extend(content);
  }

  #count(list: string, content: Buffer): void {
    const count = namesIn(list, content.toString());
    if (count === undefined) this.refusal = refused(`a file ${list} that is not valid JSON`);
    else if (count > archiveNamesMax) this.refusal = tooMany(`${count} names of images`);
  }

  #extend(pax: Buffer): void {
    const records = readPax(pax);
    if (records === undefined) {
      this.refusal = refused('a damaged pax header');
      return;
    }
    if ([...records.keys()].some((key) => key.startsWith('GNU.sparse.')))
      this.refusal = refused('a sparse file');
    // An empty value takes an earlier one back.
    const size = records.get('size') || undefined;
    if (size !== undefined && !/^\d{1,15}$/.test(size))
      this.refusal = refused('a damaged pax header');
    this.#pax = {
      path: this.#named(records.get('path') ?? ''),
      bytes: size === undefined ? undefined : Number(size),
    };
  }

  #named(path: string): string {
    if (path.length <= nameBytesMax) return path;
    this.refusal = refused(`a name of ${path.length} bytes`);
    return '';
  }
}

function padded(bytes: number): number {
  return Math.ceil(bytes / blockBytes) * blockBytes;
}

function tooMany(what: string): EngineError {
  return new EngineError(
    'Failed',
    `the tar archive has ${what}, and at most ${archiveNamesMax} names can be loaded at once; save fewer names to each archive: docker save -o FILE IMAGE`,
  );
}

function refused(what: string): EngineError {
  return new EngineError(
    'Failed',
    `the tar archive has ${what}, so its names of images can't be counted; save the images again: docker save -o FILE IMAGE`,
  );
}

/** The number of names in a list of images, 0 for one of another form; undefined if it is not valid JSON. */
function namesIn(list: string, text: string): number | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (list === 'repositories') {
    if (!isJsonObject(value)) return 0;
    return sum(
      Object.values(value).map((tags) => (isJsonObject(tags) ? Object.keys(tags).length : 0)),
    );
  }
  const images: readonly unknown[] = Array.isArray(value) ? value : [];
  return lengthOf(value, 'manifests') + sum(images.map((image) => lengthOf(image, 'repotags')));
}

/** The length of the lists in a field. The engine ignores the case of names of fields. */
function lengthOf(value: unknown, field: string): number {
  if (!isJsonObject(value)) return 0;
  return sum(
    Object.entries(value).map(([key, each]) =>
      // Both conversions: of letters like the long s, only the upper case is the same.
      key.toUpperCase().toLowerCase() === field && Array.isArray(each) ? each.length : 0,
    ),
  );
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0);
}
