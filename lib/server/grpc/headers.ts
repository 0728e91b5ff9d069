import { statusDetailsKey } from '../../rpc/index.js';
import type { Header } from '../http2/static-table.js';
import type { StreamHeaders } from '../http2/stream.js';
import type { SentStatus } from './errors.js';
import { acceptedEncodings } from './messages.js';

const ok: Header = [':status', '200'];
const contentType: Header = ['content-type', 'application/grpc+proto'];
const encodings: Header = ['grpc-accept-encoding', acceptedEncodings];
const trailersOnly: readonly Header[] = [ok, contentType];
const nothing: readonly Header[] = [];

/** The headers before the messages of an answer. */
export const answerHeaders: StreamHeaders = { recurring: [ok, contentType, encodings] };
/** The headers after the messages of a successful answer. */
export const okTrailers: StreamHeaders = { recurring: [['grpc-status', '0']] };

/** The headers after the messages of an answer, or of an answer without messages. */
export function statusHeaders(status: SentStatus, isOnly: boolean): StreamHeaders {
  const others: Header[] = [['grpc-status', String(status.code)]];
  if (status.message !== '') others.push(['grpc-message', percentEncoded(status.message)]);
  if (status.details)
    others.push([statusDetailsKey, Buffer.from(status.details).toString('base64')]);
  return { recurring: isOnly ? trailersOnly : nothing, others };
}

/** A text in the form of the header `grpc-message`. */
function percentEncoded(text: string): string {
  if (/^[\x20-\x24\x26-\x7e]*$/.test(text)) return text;
  let encoded = '';
  for (const byte of Buffer.from(text))
    encoded +=
      byte >= 0x20 && byte <= 0x7e && byte !== 0x25
        ? String.fromCharCode(byte)
        : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  return encoded;
}

const unitsMs: Readonly<Record<string, number>> = {
  H: 3_600_000,
  M: 60_000,
  S: 1_000,
  m: 1,
  u: 0.001,
  n: 0.000001,
};

/** The milliseconds of the header `grpc-timeout`; undefined if it is invalid. */
export function timeoutMs(text: string): number | undefined {
  const [, digits, unit] = /^(\d{1,8})([HMSmun])$/.exec(text) ?? [];
  const factor = unitsMs[unit ?? ''];
  return factor === undefined ? undefined : Number(digits) * factor;
}
