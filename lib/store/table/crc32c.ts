/** Castagnoli's polynomial, reflected. */
const polynomial = 0x82f63b78;

const lanes = 8;
const tables: readonly Uint32Array[] = Array.from({ length: lanes }, () => new Uint32Array(256));

function tableOf(lane: number): Uint32Array {
  return tables[lane] ?? new Uint32Array(256);
}

for (let n = 0; n < 256; n += 1) {
  let crc = n;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ polynomial : crc >>> 1;
  tableOf(0)[n] = crc >>> 0;
}
for (let lane = 1; lane < lanes; lane += 1)
  for (let n = 0; n < 256; n += 1) {
    const before = tableOf(lane - 1)[n] ?? 0;
    tableOf(lane)[n] = (before >>> 8) ^ (tableOf(0)[before & 0xff] ?? 0);
  }

/** CRC-32C (RFC 3720 appendix B.4), the checksum of LevelDB's tables; processes eight bytes per step. */
export function crc32c(bytes: Uint8Array): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  const { length } = bytes;
  const at = (table: Uint32Array, index: number): number => table[index & 0xff] as number;
  const byte = (index: number): number => bytes[index] as number;
  let crc = 0xffffffff;
  let i = 0;
  for (; i + lanes <= length; i += lanes) {
    const low = crc ^ (byte(i) | (byte(i + 1) << 8) | (byte(i + 2) << 16) | (byte(i + 3) << 24));
    crc =
      at(t7, low) ^
      at(t6, low >>> 8) ^
      at(t5, low >>> 16) ^
      at(t4, low >>> 24) ^
      at(t3, byte(i + 4)) ^
      at(t2, byte(i + 5)) ^
      at(t1, byte(i + 6)) ^
      at(t0, byte(i + 7));
  }
  for (; i < length; i += 1) crc = (crc >>> 8) ^ at(t0, crc ^ byte(i));
  return (crc ^ 0xffffffff) >>> 0;
}
