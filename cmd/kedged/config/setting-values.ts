import { isIP } from 'node:net';

// Each function returns a valid value of a flag, a variable or the file, and undefined for another one.

/** Accepts a text. */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

/** Accepts an IP address. */
export const ipAddress = (value: unknown): string | undefined =>
  typeof value === 'string' && isIP(value) !== 0 ? value : undefined;

/** Accepts a boolean, also as the text of a flag or a variable. */
export const bool = (value: unknown): boolean | undefined =>
  typeof value === 'boolean'
    ? value
    : value === 'true'
      ? true
      : value === 'false'
        ? false
        : undefined;

/** Accepts a non-negative integer, as a number or a decimal string. */
export const whole = (value: unknown): number | undefined => {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof number === 'number' && Number.isInteger(number) && number >= 0 ? number : undefined;
};

/** Accepts a positive integer, as a number or a decimal string. */
export const atLeastOne = (value: unknown): number | undefined => whole(value) || undefined;

/** Accepts an integer from 1 to 100, as a number or a decimal string. */
export const percent = (value: unknown): number | undefined => {
  const number = atLeastOne(value);
  return number !== undefined && number <= 100 ? number : undefined;
};

/** Accepts a list of strings, or one string with commas. */
export const texts = (value: unknown): readonly string[] | undefined => {
  if (typeof value === 'string') return value.split(',').filter((part) => part !== '');
  return Array.isArray(value) && value.every((v) => typeof v === 'string') ? value : undefined;
};

/** Accepts a table of strings, or one string such as `a=b,c=d`. */
export const map = (value: unknown): Readonly<Record<string, string>> | undefined => {
  if (typeof value === 'string')
    return Object.fromEntries(
      value.split(',').map((pair): [string, string] => {
        const [key = '', ...rest] = pair.split('=');
        return [key, rest.join('=')];
      }),
    );
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  return entries.every(([, v]) => typeof v === 'string') ? Object.fromEntries(entries) : undefined;
};

/** Accepts the level of the least important lines that are logged: debug, info, warn, error or silent. */
export const level = (value: unknown): string | undefined =>
  ['debug', 'info', 'warn', 'error', 'silent'].includes(String(value)) ? String(value) : undefined;

/** Accepts the calls that are audited: writes, all or off. */
export const auditScope = (value: unknown): string | undefined =>
  ['writes', 'all', 'off'].includes(String(value)) ? String(value) : undefined;
