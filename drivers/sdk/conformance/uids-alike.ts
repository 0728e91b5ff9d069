import { randomUUID } from 'node:crypto';

/** Three uids that a driver confuses when it shortens them: one differs in the first digit, one in the last. */
export function uidsAlike(): readonly string[] {
  const uid = randomUUID();
  const flip = (digit: string): string => (digit === '0' ? '1' : '0');
  return [uid, `${flip(uid[0] ?? '')}${uid.slice(1)}`, `${uid.slice(0, -1)}${flip(uid.slice(-1))}`];
}
