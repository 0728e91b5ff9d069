import type { Clock } from 'kedge';
import type { Delivery } from '../../core/emulator.js';
import type { Token } from '../../core/machine.js';
import type { Reply, WireRequest } from '../../core/wire.js';
import { regionOf } from '../rules.js';
import { keyIdOf } from '../signature/authenticate.js';

/** Options of {@link InstanceMetadata}. */
export interface MetadataOptions {
  /** The id, the zone and the private DNS name of the instance; undefined while the provider does not know it. */
  readonly instance: () =>
    | { readonly id: string; readonly place: string; readonly privateDns: string }
    | undefined;
  readonly clock: Clock;
  /** The role of the instance, with its temporary access key; undefined for an instance without a role. */
  readonly role: () => { readonly name: string; readonly token: Token } | undefined;
}

const ttlMax = 21_600;
const ttlHeader = 'x-aws-ec2-metadata-token-ttl-seconds';
const tokenHeader = 'x-aws-ec2-metadata-token';
const hourMs = 3_600_000;

const plain = (status: number, body: string): Reply => ({
  status,
  headers: { 'content-type': 'text/plain' },
  body,
});
const page = (status: number, title: string): Reply =>
  plain(
    status,
    `<?xml version="1.0"?><html><head><title>${status} - ${title}</title></head></html>`,
  );

/**
 * The instance metadata service, version 2: a session token from a PUT, and reads with this token in a header. Reads
 * without it are refused, as on an instance that requires version 2.
 */
export class InstanceMetadata {
  readonly #options: MetadataOptions;
  readonly #sessions = new Map<string, number>();
  #count = 0;
  /** Whether requests are never answered. */
  silent = false;
  /** The answer to each request whose path begins with `path`, instead of the right one. */
  instead: { readonly path: string; readonly status: number; readonly body: string } | undefined;
  /** Methods and paths of the requests so far. */
  readonly requests: string[] = [];

  constructor(options: MetadataOptions) {
    this.#options = options;
  }

  async exchange(request: WireRequest): Promise<Delivery> {
    this.requests.push(`${request.method} ${request.path}`);
    if (this.silent) return { type: 'silence' };
    const { instead } = this;
    const isReplaced = instead !== undefined && request.path.startsWith(instead.path);
    const reply = isReplaced ? plain(instead.status, instead.body) : this.#answer(request);
    return { type: 'reply', reply };
  }

  #answer({ method, path, headers }: WireRequest): Reply {
    const now = this.#options.clock.now();
    if (path === '/latest/api/token') {
      if (method !== 'PUT') return page(405, 'Method Not Allowed');
      const ttl = Number(headers[ttlHeader] ?? Number.NaN);
      if (!Number.isInteger(ttl) || ttl < 1 || ttl > ttlMax) return page(400, 'Bad Request');
      // A request that a proxy forwards gets no token.
      if (headers['x-forwarded-for'] !== undefined) return page(403, 'Forbidden');
      this.#count += 1;
      const token = Buffer.from(`session ${this.#count}`).toString('base64');
      this.#sessions.set(token, now + ttl * 1_000);
      return { ...plain(200, token), headers: { [ttlHeader]: String(ttl) } };
    }
    if (method !== 'GET') return page(405, 'Method Not Allowed');
    const end = this.#sessions.get(headers[tokenHeader] ?? '');
    if (end === undefined || now >= end) return page(401, 'Unauthorized');
    const body = this.#value(path.replace(/\/$/, ''), now);
    return body === undefined ? page(404, 'Not Found') : plain(200, body);
  }

  #value(path: string, now: number): string | undefined {
    const instance = this.#options.instance();
    if (!instance) return undefined;
    const { id, place, privateDns } = instance;
    const role = this.#options.role();
    const credentials = '/latest/meta-data/iam/security-credentials';
    const values: Readonly<Record<string, string | undefined>> = {
      '/latest/meta-data/instance-id': id,
      '/latest/meta-data/local-hostname': privateDns,
      '/latest/meta-data/placement/availability-zone': place,
      '/latest/meta-data/placement/region': regionOf(place),
      '/latest/dynamic/instance-identity/document': JSON.stringify({
        ...{ instanceId: id, availabilityZone: place, region: regionOf(place) },
        version: '2017-09-30',
      }),
      [credentials]: role?.name,
      ...(role ? { [`${credentials}/${role.name}`]: credentialsOf(role.token, now) } : {}),
    };
    return values[path];
  }
}

/** Returns a temporary key in the form of the service. */
function credentialsOf(token: Token, now: number): string {
  const time = (ms: number): string => new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
  return JSON.stringify({
    Code: 'Success',
    LastUpdated: time(now),
    Type: 'AWS-HMAC',
    AccessKeyId: keyIdOf(token),
    SecretAccessKey: token.secret,
    Token: token.sessionToken ?? '',
    Expiration: time(token.expiresAt ?? now + 6 * hourMs),
  });
}
