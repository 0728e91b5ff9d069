/**
 * The form of a Kubernetes quantity: a binary suffix Ki to Ei; a decimal suffix n, u, m, k (or K), M, G, T, P, E; or an
 * exponent (1e3). Amounts are computed with integers, and rounded to the unit away from zero.
 */
const form =
  /^([+-]?)(\d+(?:\.\d*)?|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|K|M|G|T|P|E|[eE][+-]?\d{1,3})?$/;

/** Maximum characters of a quantity; arithmetic on long numbers takes more than linear time. */
const charactersMax = 100;

const binary: Readonly<Record<string, bigint>> = {
  Ki: 1n << 10n,
  Mi: 1n << 20n,
  Gi: 1n << 30n,
  Ti: 1n << 40n,
  Pi: 1n << 50n,
  Ei: 1n << 60n,
};

const decimalExponent: Readonly<Record<string, number>> = {
  n: -9,
  u: -6,
  m: -3,
  k: 3,
  K: 3,
  M: 6,
  G: 9,
  T: 12,
  P: 15,
  E: 18,
};

/** The largest amount of a quantity, positive or negative: that of a signed 64-bit number, as in Kubernetes. */
export const quantityMax = 2n ** 63n - 1n;

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return dividend % divisor > 0n ? quotient + 1n : quotient;
}

/**
 * The value of `text` in whole units, rounded away from zero. Undefined if it is not a quantity, has more than 100
 * characters, or its amount exceeds {@link quantityMax}.
 */
export function parseQuantity(text: string): bigint | undefined {
  return scaledQuantity(text, 0);
}

/**
 * Like {@link parseQuantity}, in thousandths of units, for quantities such as `500m` of processors. The number of
 * thousandths must not exceed {@link quantityMax}.
 */
export function parseMilliQuantity(text: string): bigint | undefined {
  return scaledQuantity(text, 3);
}

/** The value times 10^`shift`, rounded away from zero; undefined as for {@link parseQuantity}. */
function scaledQuantity(text: string, shift: number): bigint | undefined {
  if (text.length > charactersMax) return undefined;
  const match = form.exec(text);
  if (!match) return undefined;
  const [, sign, number = '', suffix = ''] = match;
  const [whole = '', fraction = ''] = number.split('.');
  const digits = BigInt(`${whole}${fraction}`);
  const factor = binary[suffix];
  const exponent = factor
    ? 0
    : (decimalExponent[suffix] ?? (suffix === '' ? 0 : Number(suffix.slice(1))));
  const scale = exponent + shift - fraction.length;
  const scaled = digits * (factor ?? 1n);
  const units =
    scale >= 0 ? scaled * 10n ** BigInt(scale) : ceilDivide(scaled, 10n ** BigInt(-scale));
  const value = sign === '-' ? -units : units;
  return value > quantityMax || value < -quantityMax ? undefined : value;
}

const binarySuffixes = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'] as const;
const decimalSuffixes = ['', 'k', 'M', 'G', 'T', 'P', 'E'] as const;

/** The largest number of steps by which `base` divides `units`, and the quotient. */
function reduced(units: bigint, base: bigint, stepsMax: number): readonly [bigint, number] {
  let mantissa = units;
  let steps = 0;
  while (steps < stepsMax && mantissa !== 0n && mantissa % base === 0n) {
    mantissa /= base;
    steps += 1;
  }
  return [mantissa, steps];
}

/**
 * The quantity in whole units, rounded away from zero, with the largest suffix that needs no fraction. The suffix stays
 * in its family: binary, decimal or exponent. Unlike in Kubernetes, a fraction such as `500m` becomes a whole unit.
 * Undefined as for {@link parseQuantity}.
 */
export function canonicalQuantity(text: string): string | undefined {
  const units = parseQuantity(text);
  if (units === undefined) return undefined;
  const suffix = form.exec(text)?.[3] ?? '';
  if (Object.hasOwn(binary, suffix)) {
    const [mantissa, steps] = reduced(units, 1024n, binarySuffixes.length - 1);
    return `${mantissa}${binarySuffixes[steps] ?? ''}`;
  }
  const exponent = /^[eE][+-]?\d/.test(suffix);
  const [mantissa, steps] = reduced(units, 1000n, decimalSuffixes.length - 1);
  if (exponent) return steps === 0 ? String(mantissa) : `${mantissa}e${steps * 3}`;
  return `${mantissa}${decimalSuffixes[steps] ?? ''}`;
}
