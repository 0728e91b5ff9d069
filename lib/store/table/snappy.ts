function wrong(detail: string): Error {
  return new Error(`a compressed block is damaged: ${detail}`);
}

/**
 * Decompresses Snappy's raw format (google/snappy, format_description.txt), which LevelDB uses for blocks.
 * @throws Error for invalid input
 */
export function snappyDecompress(input: Uint8Array): Buffer {
  let position = 0;
  const byte = (): number => {
    const value = input[position];
    if (value === undefined) throw wrong('it is truncated');
    position += 1;
    return value;
  };
  const littleEndian = (bytes: number): number => {
    let value = 0;
    for (let n = 0; n < bytes; n += 1) value += byte() * 2 ** (8 * n);
    return value;
  };

  let length = 0;
  for (let scale = 1; ; scale *= 128) {
    const next = byte();
    length += (next & 0x7f) * scale;
    if (next < 0x80) break;
    if (scale > 2 ** 28) throw wrong('its length is invalid');
  }
  // An element expands one byte to at most 64: refuse a larger length before allocating.
  if (length > input.length * 64) throw wrong('its length is invalid');
  const output = Buffer.alloc(length);
  let written = 0;

  const literal = (tag: number): void => {
    const short = tag >> 2;
    const size = 1 + (short < 60 ? short : littleEndian(short - 59));
    if (position + size > input.length || written + size > length) throw wrong('it is truncated');
    output.set(input.subarray(position, position + size), written);
    position += size;
    written += size;
  };
  const copy = (offset: number, size: number): void => {
    if (offset === 0 || offset > written || written + size > length)
      throw wrong('a copy element is invalid');
    // Byte by byte: source and target may overlap, which repeats a pattern.
    for (let n = 0; n < size; n += 1, written += 1)
      output[written] = output[written - offset] as number;
  };

  while (position < input.length) {
    const tag = byte();
    const kind = tag & 3;
    if (kind === 0) literal(tag);
    else if (kind === 1) copy(((tag >> 5) << 8) | byte(), 4 + ((tag >> 2) & 7));
    else copy(littleEndian(kind === 2 ? 2 : 4), 1 + (tag >> 2));
  }
  if (written !== length) throw wrong('it is truncated');
  return output;
}
