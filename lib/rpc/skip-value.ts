import { type BinaryReader, WireType } from '@bufbuild/protobuf/wire';

/**
 * Moves a reader of `bytes` past a value without a length. Unlike `BinaryReader.skip`, it allocates nothing for
 * varints and fixed sizes. Afterwards the reader may be beyond the end of a truncated message; see `requireWithin`.
 * @throws Error for a group that is not valid
 */
export function skipValue(
  reader: BinaryReader,
  bytes: Uint8Array,
  type: WireType,
  number: number,
): void {
  if (type === WireType.Varint) while (((bytes[reader.pos++] ?? 0) & 0x80) !== 0);
  else if (type === WireType.Bit64) reader.pos += 8;
  else if (type === WireType.Bit32) reader.pos += 4;
  else reader.skip(type, number);
}
