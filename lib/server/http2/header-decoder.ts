import { ConnectionError, errorCodes } from './frames.js';
import { huffmanText } from './huffman.js';
import { countedBytes, type Header, staticTable } from './static-table.js';

/** Bytes of the dynamic table: the default of the protocol, which is not raised. */
const tableBytesMax = 4_096;
/** Maximum bytes and number of the headers of a call. */
export const headerBytesMax = 65_536;
const headersMax = 128;

const none = Buffer.alloc(0);
const nameForm = /^:?[a-z0-9!#$%&'*+.^_`|~-]+$/;
const valueForm = /^[^\0\r\n]*$/;
/** Headers that HTTP/2 forbids. */
const forbidden = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
]);
/** The entry of the static table that is forbidden. */
const forbiddenEntry = staticTable.find(([name]) => forbidden.has(name));

/** The headers of a call. */
export interface DecodedHeaders {
  readonly headers: readonly Header[];
  /** Whether a header is invalid, or one that HTTP/2 forbids. */
  readonly malformed: boolean;
  /** Whether the headers are beyond the limits; then the later ones are missing. */
  readonly tooLarge: boolean;
}

function corrupt(what: string): ConnectionError {
  return new ConnectionError(errorCodes.compression, `the headers are corrupt: ${what}`);
}

/** Decodes headers by HPACK (RFC 7541). One decoder reads all headers of a connection, in order. */
export class HeaderDecoder {
  /** The dynamic table, oldest first. */
  readonly #table: Header[] = [];
  #tableBytes = 0;
  #tableMax = tableBytesMax;
  #bytes: Buffer = none;
  #at = 0;
  #malformed = false;

  /**
   * Decodes one block of headers.
   * @throws ConnectionError for bytes that can't be decoded; nothing must be decoded after it
   */
  decode(bytes: Buffer): DecodedHeaders {
    this.#bytes = bytes;
    this.#at = 0;
    this.#malformed = false;
    const headers: Header[] = [];
    let size = 0;
    while (this.#at < bytes.length) {
      const header = this.#next(headers.length === 0);
      if (!header) continue;
      size += countedBytes(header);
      // Decoded to the end anyway: the table is that of the whole connection.
      if (size <= headerBytesMax && headers.length < headersMax) headers.push(header);
      else size = Infinity;
    }
    this.#bytes = none;
    return { headers, malformed: this.#malformed, tooLarge: size === Infinity };
  }

  #next(isFirst: boolean): Header | undefined {
    const byte = this.#bytes[this.#at] ?? 0;
    if (byte & 0x80) return this.#entry(this.#number(0x7f));
    if (byte & 0x40) return this.#insert(this.#literal(this.#number(0x3f)));
    if (!(byte & 0x20)) return this.#literal(this.#number(0x0f));
    const size = this.#number(0x1f);
    if (size > tableBytesMax || !isFirst) throw corrupt('a size of the table');
    this.#tableMax = size;
    this.#evict();
    return undefined;
  }

  #entry(index: number): Header {
    const { length } = staticTable;
    const found =
      index <= length ? staticTable[index - 1] : this.#table[this.#table.length - (index - length)];
    if (!found) throw corrupt(`no entry ${index}`);
    if (found === forbiddenEntry) this.#malformed = true;
    return found;
  }

  #literal(nameIndex: number): Header {
    const name = nameIndex === 0 ? this.#text() : this.#entry(nameIndex)[0];
    const value = this.#text();
    if (nameIndex === 0 && (!nameForm.test(name) || forbidden.has(name))) this.#malformed = true;
    if (!valueForm.test(value)) this.#malformed = true;
    return [name, value];
  }

  #insert(header: Header): Header {
    // Later calls would refer to it by number, which is not checked again.
    if (this.#malformed)
      throw new ConnectionError(errorCodes.protocol, 'a malformed header is to be kept');
    this.#table.push(header);
    this.#tableBytes += countedBytes(header);
    this.#evict();
    return header;
  }

  #evict(): void {
    let evicted = 0;
    while (this.#tableBytes > this.#tableMax) {
      const oldest = this.#table[evicted++];
      if (!oldest) break;
      this.#tableBytes -= countedBytes(oldest);
    }
    if (evicted > 0) this.#table.splice(0, evicted);
  }

  #number(mask: number): number {
    const bytes = this.#bytes;
    let value = (bytes[this.#at++] ?? 0) & mask;
    if (value < mask) return value;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[this.#at++];
      if (byte === undefined || factor > 2 ** 21) throw corrupt('a number');
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
    }
  }

  #text(): string {
    const isHuffman = ((this.#bytes[this.#at] ?? 0) & 0x80) !== 0;
    const length = this.#number(0x7f);
    const from = this.#at;
    this.#at += length;
    if (this.#at > this.#bytes.length) throw corrupt('a text that is cut');
    if (!isHuffman) return this.#bytes.toString('latin1', from, this.#at);
    const text = huffmanText(this.#bytes, from, this.#at);
    if (text === undefined) throw corrupt('a text');
    return text;
  }
}
