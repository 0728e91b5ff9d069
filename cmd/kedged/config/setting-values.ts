import { isIP } from 'node:net';
import { isAbsolute } from 'node:path';

// Each function returns a valid value of a flag, a variable or the file, and undefined for another one.

/** Accepts a text. */
export const text = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

/**
 * Accepts a path. A leading `~` is refused: only shells replace it, so that a directory of this name would be created in
 * the working directory.
 */
export const path = (value: unknown): string | undefined =>
  typeof value === 'string' && !value.startsWith('~') ? value : undefined;

/** Accepts a text that is not empty. */
export const nonEmpty = (value: unknown): string | undefined => text(value) || undefined;

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
  if (typeof value === 'string')
    return value
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '');
  return Array.isArray(value) && value.every((v) => typeof v === 'string') ? value : undefined;
};

/** Accepts a list of absolute paths, or one string with commas. */
export const absolutePaths = (value: unknown): readonly string[] | undefined => {
  const given = texts(value);
  return given?.every((each) => isAbsolute(each)) ? given : undefined;
};

/** Accepts a table of strings, or one string such as `a=b,c=d`; an empty string is an empty table. */
export const map = (value: unknown): Readonly<Record<string, string>> | undefined => {
  if (typeof value === 'string') {
    const pairs = (texts(value) ?? []).map((pair) => /^([^=]+)=(.*)$/s.exec(pair));
    if (pairs.includes(null)) return undefined;
    return Object.fromEntries(pairs.map((pair) => [pair?.[1] ?? '', pair?.[2] ?? '']));
  }
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
