import type { Token } from '../../core/machine.js';
import type { WireRequest } from '../../core/wire.js';
import { Refusal } from '../refusals.js';
import { zones } from '../rules.js';
import { parseAuthorization, signatureOf } from './sigv4.js';

/** The signer of a request, and the region for which it is signed. */
export interface Signer {
  readonly token: Token;
  readonly region: string;
}

/** How far the time of a signature may be from the provider's. */
const skewMaxMs = 15 * 60_000;

/** The headers that a signature has to cover. */
const required = ['host', 'x-amz-date'];

/** Returns the id of an access key: its own, or the name of the token. */
export function keyIdOf({ keyId, name }: Token): string {
  return keyId ?? name;
}

/** Verifies the signature of a request, and returns its signer. @param now the provider's time @throws Refusal */
export function requireSigner(
  request: WireRequest,
  tokenOf: (keyId: string) => Token | undefined,
  now: number,
): Signer {
  const header = request.headers['authorization'];
  if (header === undefined) throw new Refusal('unsigned');
  const given = parseAuthorization(header);
  if (!given) throw new Refusal('badAuthorization', 'it has another form');
  const { keyId, scope, signedHeaders, signature } = given;
  const date = request.headers['x-amz-date'] ?? '';
  const [unsigned] = required.filter((name) => !signedHeaders.includes(name));
  if (unsigned !== undefined) throw new Refusal('badAuthorization', `${unsigned} is not signed`);
  const at = timeOf(date);
  if (at === undefined || !date.startsWith(scope.day))
    throw new Refusal('badAuthorization', 'the date of the scope is another one');
  const token = tokenOf(keyId);
  if (!token || scope.service !== 'ec2') throw new Refusal('unknownCredentials');
  const { secret, sessionToken, expiresAt } = token;
  const own = signatureOf(request, { secret, scope, signedHeaders });
  if (own !== signature) throw new Refusal('unknownCredentials');
  if (request.headers['x-amz-security-token'] !== sessionToken)
    throw new Refusal('unknownCredentials');
  if (Math.abs(now - at) > skewMaxMs) throw new Refusal('expired');
  if (expiresAt !== undefined && now >= expiresAt) throw new Refusal('expired');
  if (!(scope.region in zones)) throw new Refusal('wrongRegion', scope.region);
  return { token, region: scope.region };
}

/** Parses a time such as 20150830T123600Z. */
function timeOf(text: string): number | undefined {
  const [, ...parts] = /^(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z$/.exec(text) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts.map(Number);
  return parts.length === 0 ? undefined : Date.UTC(year, month - 1, day, hour, minute, second);
}
