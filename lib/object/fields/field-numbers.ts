/** Lower numbers belong to the fields of every object. */
const firstNumber = 16;
/** Three bytes on the wire for a field's number and type. */
const numbersEnd = 2 ** 18;
/** Reserved by protobuf for its implementations. */
const reservedFrom = 19_000;
const reservedTo = 19_999;

/** FNV-1a, 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return hash >>> 0;
}

/** True for a number that a protobuf field may have. */
export function isFieldNumber(number: number): boolean {
  return (
    Number.isInteger(number) &&
    number >= 1 &&
    number < 2 ** 29 &&
    (number < reservedFrom || number > reservedTo)
  );
}

/**
 * The protobuf number that is derived from the name of a field or enum value alone, so that a field can be added or
 * moved without changing other numbers.
 */
export function numberFromName(name: string): number {
  const number = firstNumber + (hashOf(name) % (numbersEnd - firstNumber));
  return number >= reservedFrom && number <= reservedTo ? number + numbersEnd : number;
}
