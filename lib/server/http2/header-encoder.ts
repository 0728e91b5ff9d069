import { countedBytes, type Header, staticTable } from './static-table.js';

/** Maximum bytes of the client's table that are used. */
const tableBytesMax = 2_048;

/** Headers that recur on a connection: once they are in the client's table, they are sent by number. */
export type RecurringHeaders = readonly Header[];

interface Encoded {
  readonly bytes: Buffer;
  /** The number of entries in the table for which the bytes are right. */
  readonly entries: number;
}

const staticNumbers = new Map<string, number>();
const staticNames = new Map<string, number>();
staticTable.forEach(([name, value], at) => {
  if (!staticNames.has(name)) staticNames.set(name, at + 1);
  staticNumbers.set(`${name}\0${value}`, at + 1);
});

function pushNumber(target: number[], mark: number, mask: number, value: number): void {
  if (value < mask) {
    target.push(mark | value);
    return;
  }
  target.push(mark | mask);
  let rest = value - mask;
  for (; rest >= 128; rest = Math.floor(rest / 128)) target.push((rest % 128) + 128);
  target.push(rest);
}

function textOf(text: string): Buffer {
  const head: number[] = [];
  pushNumber(head, 0, 0x7f, text.length);
  return Buffer.concat([Buffer.from(head), Buffer.from(text, 'latin1')]);
}

function literal(mark: number, mask: number, [name, value]: Header): Buffer {
  const head: number[] = [];
  const nameNumber = staticNames.get(name) ?? 0;
  pushNumber(head, mark, mask, nameNumber);
  const parts = [Buffer.from(head), textOf(value)];
  if (nameNumber === 0) parts.splice(1, 0, textOf(name));
  return Buffer.concat(parts);
}

/** Encodes the headers of answers by HPACK, for one connection. Texts are latin1. */
export class HeaderEncoder {
  /** The number of each recurring header in the order of insertion. */
  readonly #table = new Map<string, number>();
  readonly #encoded = new Map<RecurringHeaders, Encoded>();
  #tableBytes = 0;
  #hasTable = true;
  #resized = false;

  /** Takes the table size of the client. One below the default turns the table off. */
  setTableSize(bytes: number): void {
    if (bytes >= 4_096 || !this.#hasTable) return;
    this.#hasTable = false;
    this.#resized = true;
    this.#table.clear();
    this.#encoded.clear();
  }

  /** Encodes recurring headers, and others after them. The result must be sent before that of the next call. */
  encode(recurring: RecurringHeaders, others: readonly Header[] = []): Buffer {
    const block = this.#recurring(recurring);
    if (others.length === 0 && !this.#resized) return block;
    const parts = [block, ...others.map((header) => literal(0, 0x0f, header))];
    // An empty table has to be announced before the first headers that are sent without it.
    if (this.#resized) parts.unshift(Buffer.from([0x20]));
    this.#resized = false;
    return Buffer.concat(parts);
  }

  #recurring(headers: RecurringHeaders): Buffer {
    const known = this.#encoded.get(headers);
    if (known?.entries === this.#table.size) return known.bytes;
    const before = this.#table.size;
    const bytes = Buffer.concat(headers.map((header) => this.#one(header)));
    // With new entries the bytes are different the next time.
    if (this.#table.size === before) this.#encoded.set(headers, { bytes, entries: before });
    return bytes;
  }

  #one(header: Header): Buffer {
    const key = header.join('\0');
    const fixed = staticNumbers.get(key);
    if (fixed !== undefined) return Buffer.from([0x80 | fixed]);
    const inserted = this.#table.get(key);
    if (inserted !== undefined)
      return Buffer.from([0x80 | (staticTable.length + this.#table.size - inserted)]);
    const size = countedBytes(header);
    if (!this.#hasTable || this.#tableBytes + size > tableBytesMax) return literal(0, 0x0f, header);
    this.#table.set(key, this.#table.size);
    this.#tableBytes += size;
    return literal(0x40, 0x3f, header);
  }
}
