import { printable, printableLine } from '../../terminal-text.js';

const levels: Readonly<Record<number, string>> = {
  20: 'debug',
  30: 'info',
  40: 'warn',
  50: 'error',
};

function shown(value: unknown): string {
  const bare = typeof value === 'string' && /^[^\s"=]+$/.test(value) && printable(value) === value;
  return bare ? value : printable(JSON.stringify(value));
}

/** A log line as text for a terminal: time of day, level, message, fields. A text that is not JSON is unchanged. */
export function readableLine(json: string): string {
  let line: unknown;
  try {
    line = JSON.parse(json);
  } catch {
    return json;
  }
  const { level, time, msg, ...fields } = line as Readonly<Record<string, unknown>>;
  const at = String(time).slice('2026-01-01T'.length, -'.000Z'.length);
  const rest = Object.entries(fields).map(
    ([name, value]) => ` ${printableLine(name)}=${shown(value)}`,
  );
  const label = (levels[Number(level)] ?? String(level)).padEnd(5);
  return `${at} ${label} ${printableLine(String(msg))}${rest.join('')}\n`;
}
