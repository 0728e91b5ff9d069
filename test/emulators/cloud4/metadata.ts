import type { Clock } from 'kedge';
import type { Delivery } from '../core/emulator.js';
import { FaultScript } from '../core/faults.js';
import { jsonReply, queryValue, type Reply, type WireRequest } from '../core/wire.js';
import { wholePlatform } from './accounts.js';
import type { Cloud4 } from './machine.js';

/** Options of the metadata server of an instance. */
export interface MetadataOptions {
  readonly instance: string;
  /** The service account of the instance; default the first one of the project. */
  readonly account?: string;
  /** The access scopes of the instance; default the whole platform. */
  readonly scopes?: readonly string[];
  /** Default: a free port. */
  readonly port?: number;
}

const root = '/computeMetadata/v1';
const projectNumber = '123456789012';
const flavor = { 'metadata-flavor': 'Google', server: 'Metadata Server for VM' };

function text(status: number, body: string): Reply {
  return { status, headers: { ...flavor, 'content-type': 'application/text' }, body };
}

/**
 * The metadata server of one instance. It answers programs of the instance with data about the instance, and with access
 * tokens of its service account. Clients find it by GCE_METADATA_HOST.
 */
export class MetadataServer {
  readonly #cloud: Cloud4;
  readonly #options: MetadataOptions;
  readonly #clock: Clock;
  readonly faults = new FaultScript();
  /** The requested paths. */
  readonly requests: string[] = [];

  /** @param clock the clock of the clients */
  constructor(cloud: Cloud4, options: MetadataOptions, clock: Clock) {
    this.#cloud = cloud;
    this.#options = options;
    this.#clock = clock;
  }

  /** Returns the reaction to a request. Only the faults `before`, `timeout` and `serverError` have an effect. */
  async exchange(request: WireRequest): Promise<Delivery> {
    this.requests.push(request.path);
    const fault = this.faults.take(request);
    switch (fault?.type) {
      case 'before':
        return { type: 'reset' };
      case 'timeout':
        return { type: 'silence' };
      case 'serverError':
        return { type: 'reply', reply: text(fault.status ?? 503, 'Service Unavailable') };
      default:
        return { type: 'reply', reply: this.#reply(request) };
    }
  }

  #reply(request: WireRequest): Reply {
    const { method, path, headers } = request;
    if (headers['metadata-flavor'] !== 'Google')
      return text(403, 'Missing Metadata-Flavor:Google header.');
    if (headers['x-forwarded-for'] !== undefined) return text(403, 'Forwarded request.');
    if (method !== 'GET') return text(405, 'Method Not Allowed');
    const server = this.#cloud.instance(this.#options.instance);
    if (!server || !path.startsWith(root)) return text(404, 'Not Found');
    const { project } = this.#cloud;
    const { name, place, id } = server;
    const values: Readonly<Record<string, string>> = {
      '': 'instance/\nproject/\n',
      '/instance': 'hostname\nid\nname\nservice-accounts/\nzone\n',
      '/instance/hostname': `${name}.${place}.c.${project}.internal`,
      '/instance/id': id,
      '/instance/name': name,
      '/instance/zone': `projects/${projectNumber}/zones/${place}`,
      '/project/project-id': project,
      '/project/numeric-project-id': projectNumber,
      '/universe/universe-domain': 'googleapis.com',
    };
    const asked = path.slice(root.length).replace(/\/$/, '');
    const value = values[asked];
    return value === undefined ? this.#account(request, asked) : text(200, value);
  }

  #account(request: WireRequest, asked: string): Reply {
    const account = this.#options.account ?? this.#cloud.accounts.first;
    const { scopes = [wholePlatform] } = this.#options;
    const folder = '/instance/service-accounts';
    if (account === undefined) return text(404, 'Not Found');
    if (asked === folder) return text(200, `${account}/\ndefault/\n`);
    const own = asked.replace(`${folder}/${account}`, `${folder}/default`);
    if (own === `${folder}/default/email`) return text(200, account);
    if (own === `${folder}/default/scopes`) return text(200, `${scopes.join('\n')}\n`);
    if (own !== `${folder}/default/token`) return text(404, 'Not Found');
    // The scopes of a token are at most those of the instance.
    const wanted = queryValue(request, 'scopes')?.split(',') ?? scopes;
    const granted = scopes.includes(wholePlatform)
      ? wanted
      : wanted.filter((scope) => scopes.includes(scope));
    const now = this.#clock.now();
    const { token, expiresAt } = this.#cloud.accounts.issue(
      account,
      granted.length === 0 ? scopes : granted,
      now,
    );
    const seconds = Math.floor((expiresAt - now) / 1000) - 1;
    const form = { access_token: token, expires_in: seconds, token_type: 'Bearer' };
    return jsonReply(200, form, flavor);
  }
}
