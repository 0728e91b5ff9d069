/** The lowest derived number. Lower ones are for the fields that every object has, and for numbers set explicitly. */
const firstNumber = 16;
/** From this number on, the tag of a field takes more than three bytes. */
const numbersEnd = 2 ** 18;
/** Reserved by protobuf for its implementations. */
const reservedFrom = 19_000;
const reservedTo = 19_999;

/** The FNV-1a hash of a text, 32 bits. */
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
 * The protobuf number of a field or enum value. It depends on the name alone, so that a field can be added or moved
 * without changing other numbers.
 */
export function numberFromName(name: string): number {
  const number = firstNumber + (hashOf(name) % (numbersEnd - firstNumber));
  return number >= reservedFrom && number <= reservedTo ? number + numbersEnd : number;
}
