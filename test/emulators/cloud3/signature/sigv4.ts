import { createHash, createHmac } from 'node:crypto';

/** The parts of a request that Signature Version 4 signs. Names of headers are in lower case. */
export interface SignedRequest {
  readonly method: string;
  /** The path without percent-encoding. */
  readonly path: string;
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The scope of a key that signs: a day such as 20150830, a region and a service. */
export interface Scope {
  readonly day: string;
  readonly region: string;
  readonly service: string;
}

const algorithm = 'AWS4-HMAC-SHA256';
const ending = 'aws4_request';

/** An `Authorization` header in its parts. */
export interface Authorization {
  readonly keyId: string;
  readonly scope: Scope;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

/** Parses an `Authorization` header. Returns undefined for another form. */
export function parseAuthorization(header: string): Authorization | undefined {
  const form =
    /^AWS4-HMAC-SHA256 Credential=([^/\s]+)\/(\d{8})\/([^/\s]+)\/([^/\s]+)\/aws4_request, ?SignedHeaders=([^,\s]+), ?Signature=([0-9a-f]{64})$/;
  const [, keyId, day, region, service, names, signature] = form.exec(header) ?? [];
  if (!keyId || !day || !region || !service || !names || !signature) return undefined;
  return { keyId, scope: { day, region, service }, signedHeaders: names.split(';'), signature };
}

function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();
const inOrder = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/** Returns the text whose hash a signature contains. */
export function canonicalRequest(request: SignedRequest, signedHeaders: readonly string[]): string {
  const query = request.query
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => inOrder(a, b) || inOrder(x, y))
    .map(([name, value]) => `${name}=${value}`);
  const headers = signedHeaders.map((name) => {
    const value = (request.headers[name] ?? '').trim().replaceAll(/ +/g, ' ');
    return `${name}:${value}\n`;
  });
  return [
    request.method,
    request.path.split('/').map(encode).join('/'),
    query.join('&'),
    headers.join(''),
    signedHeaders.join(';'),
    sha256(request.body),
  ].join('\n');
}

/** Returns the key that signs for a day, a region and a service. */
export function signingKey(secret: string, { day, region, service }: Scope): Buffer {
  return [day, region, service, ending].reduce<Buffer>(
    (key, part) => hmac(key, part),
    Buffer.from(`AWS4${secret}`),
  );
}

/** Returns the signature of a request. Its time is the header `x-amz-date`. */
export function signatureOf(
  request: SignedRequest,
  {
    secret,
    scope,
    signedHeaders,
  }: {
    readonly secret: string;
    readonly scope: Scope;
    readonly signedHeaders: readonly string[];
  },
): string {
  const { day, region, service } = scope;
  const text = [
    algorithm,
    request.headers['x-amz-date'] ?? '',
    `${day}/${region}/${service}/${ending}`,
    sha256(canonicalRequest(request, signedHeaders)),
  ].join('\n');
  return hmac(signingKey(secret, scope), text).toString('hex');
}

/** Returns a request with its `Authorization` header, as a client sends it. */
export function signed(
  request: SignedRequest,
  key: { readonly keyId: string; readonly secret: string; readonly sessionToken?: string },
  place: { readonly region: string; readonly service: string },
  now: number,
): SignedRequest {
  const date = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '');
  const { keyId, secret, sessionToken } = key;
  const session = sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken };
  const headers = { ...request.headers, 'x-amz-date': date, ...session };
  const scope = { day: date.slice(0, 8), ...place };
  const signedHeaders = Object.keys(headers).sort(inOrder);
  const signature = signatureOf({ ...request, headers }, { secret, scope, signedHeaders });
  const credential = `${keyId}/${scope.day}/${scope.region}/${scope.service}/${ending}`;
  const authorization = `${algorithm} Credential=${credential}, SignedHeaders=${signedHeaders.join(';')}, Signature=${signature}`;
  return { ...request, headers: { ...headers, authorization } };
}
