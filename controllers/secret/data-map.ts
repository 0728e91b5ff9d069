import type { FieldViolation } from 'kedge';

/** Limits of the data of secrets and configmaps. */
const objectBytesMax = 1_048_576;
const keyCharactersMax = 253;

/** The violations of the keys and the size of a data map. */
export function dataViolations(data: Readonly<Record<string, string>>): readonly FieldViolation[] {
  const violations: FieldViolation[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(data)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    if (!/^[-._a-zA-Z0-9]+$/.test(key) || key.length > keyCharactersMax)
      violations.push({
        field: `data.${key.slice(0, 64)}`,
        description: `a key has 1 to ${keyCharactersMax} characters of a-z, A-Z, 0-9, ".", "-" and "_"`,
      });
  }
  if (bytes > objectBytesMax)
    violations.push({
      field: 'data',
      description: `is ${bytes} bytes, at most ${objectBytesMax} are allowed; split it`,
    });
  return violations;
}
