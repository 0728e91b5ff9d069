import { posix } from 'node:path';

/** Size of a header of tar, and of the blocks that a file fills. */
export const blockBytes = 512;

/** A header of a tar archive (POSIX.1-1988 ustar, GNU, and older ones without a magic number). */
export interface TarHeader {
  /** One character: `0` for a file, `x` for a header of pax, `L` for a long name of GNU. */
  readonly type: string;
  /** The path without a prefix. */
  readonly path: string;
  /** The last part of the path, without a prefix and with those of ustar and of star. */
  readonly names: readonly string[];
  /** Bytes of content that follow, at least 0. */
  readonly bytes: number;
}

/** Links, devices, directories and pipes, which have no content even if they have a size. */
const withoutContent = ['1', '2', '3', '4', '5', '6'];

/** Whether an entry of this type has content. In old archives a folder is a file whose path ends with a slash. */
export function hasContent(type: string, path: string): boolean {
  return !withoutContent.includes(type) && !(type === '\0' && path.endsWith('/'));
}

/** Reads a header of {@link blockBytes}; undefined if it is none: its checksum or its size is wrong. */
export function readHeader(header: Buffer): TarHeader | undefined {
  const type = header.toString('latin1', 156, 157);
  const bytes = withoutContent.includes(type) ? 0 : sizeOf(header.subarray(124, 136));
  const sum = header.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  // Old programs added the bytes as signed numbers.
  const signed = header.reduce(
    (total, byte, at) => total - (byte > 127 && (at < 148 || at >= 156) ? 256 : 0),
    sum,
  );
  const checksum = octal(header.subarray(148, 156));
  if (bytes === undefined || (checksum !== sum && checksum !== signed)) return undefined;
  const path = textOf(header.subarray(0, 100));
  const prefixes = [header.subarray(345, 500), header.subarray(345, 476)].map(textOf);
  return {
    type,
    path,
    names: [path, ...prefixes.map((prefix) => `${prefix}/${path}`)].map(lastPart),
    bytes,
  };
}

/** The last part of a path, after `.` and `..` were resolved. */
export function lastPart(path: string): string {
  return posix.basename(posix.normalize(`/${path}`));
}

/** The text up to the first zero byte. */
export function textOf(bytes: Buffer): string {
  const [text = ''] = bytes.toString('latin1').split('\0');
  return text;
}

/** Reads the records of a header of pax (POSIX.1-2001), the last of each key; undefined if one is damaged. */
export function readPax(header: Buffer): ReadonlyMap<string, string> | undefined {
  const records = new Map<string, string>();
  for (let rest = header; rest.length > 0; ) {
    const space = rest.indexOf(' ');
    const digits = rest.toString('latin1', 0, Math.max(space, 0));
    const length = Number(digits);
    if (!/^\d{1,9}$/.test(digits) || length <= space || length > rest.length) return undefined;
    const text = rest.toString('latin1', space + 1, length);
    const equals = text.indexOf('=');
    if (equals < 1 || !text.endsWith('\n')) return undefined;
    records.set(text.slice(0, equals), text.slice(equals + 1, -1));
    rest = rest.subarray(length);
  }
  return records;
}

/** A size: octal digits, or since GNU tar a number of base 256, marked by its first bit. */
function sizeOf(field: Buffer): number | undefined {
  const [first = 0, ...others] = field;
  if (first < 128) return octal(field);
  // The second bit is the sign.
  if (first >= 192) return undefined;
  const size = others.reduce((total, byte) => total * 256 + byte, first - 128);
  return Number.isSafeInteger(size) ? size : undefined;
}

function octal(field: Buffer): number | undefined {
  const digits = textOf(Buffer.from(field.toString('latin1').replace(/^[ \0]+/, ''), 'latin1'));
  const text = digits.trim();
  return /^[0-7]*$/.test(text) ? Number.parseInt(text || '0', 8) : undefined;
}
