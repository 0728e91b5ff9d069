import { DriverError } from '@kedge/driver-sdk';
import { credentialAbsent } from '@kedge/driver-sdk/messages';
import {
  httpTransport,
  type ProviderClock,
  type Transport,
  type TransportReply,
  withDeadline,
} from '@kedge/driver-sdk/provider';

/** Time for one answer, milliseconds: as long as the SDK waits. */
const answerMs = 1_000;
const rolesPath = '/latest/meta-data/iam/security-credentials/';

/** The answer to a request, or why there is none. */
type Outcome =
  | { readonly type: 'reply'; readonly reply: TransportReply }
  | { readonly type: 'silent' }
  | { readonly type: 'failed'; readonly why: string };

const repeated = 'the call is repeated';
const elsewhere =
  'on a machine outside EC2, or to use no role, set accessKeyId and secretAccessKey in the class';
const hopLimit =
  'aws ec2 modify-instance-metadata-options --instance-id ID --http-put-response-hop-limit 2';

/** The finding about an answer with status 200: the words about it, without its content, which may be a secret. */
function findingIn(text: string): string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return 'answers with a text that is not a credential'; // the error of the parser quotes the text
  }
  const { Code: code, AccessKeyId: id } = (parsed ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof code === 'string' && code !== 'Success' && /^\w{1,60}$/.test(code))
    return `has no credential of the role (${code}): check the trust policy of the role`;
  return typeof id === 'string'
    ? 'did not answer the SDK in time, and answers now'
    : 'answers with an object that is not a credential';
}

/**
 * Finds out why the instance metadata service of EC2 gave no credentials: the SDK reports only that no source had any.
 */
export class MetadataService {
  readonly #clock: ProviderClock;
  readonly #transport: Transport;

  constructor(clock: ProviderClock, transport: Transport = httpTransport()) {
    this.#clock = clock;
    this.#transport = transport;
  }

  async #ask(
    method: 'GET' | 'PUT',
    url: URL,
    headers: TransportReply['headers'],
    signal: AbortSignal,
  ): Promise<Outcome> {
    const late = new Error('late');
    const sent = headers as Readonly<Record<string, string>>;
    try {
      const reply = await withDeadline(
        this.#clock,
        answerMs,
        signal,
        () => late,
        (inner) => this.#transport({ method, url, headers: sent, signal: inner }),
      );
      return { type: 'reply', reply };
    } catch (thrown) {
      if (thrown === late) return { type: 'silent' };
      return { type: 'failed', why: thrown instanceof Error ? thrown.message : String(thrown) };
    }
  }

  /**
   * The error of a call for which the service gave no credentials. CredentialsRejected if the instance has no role or
   * the service is switched off, otherwise Unavailable.
   * @param endpoint the origin of the service
   */
  async refusal(endpoint: string, signal: AbortSignal): Promise<DriverError> {
    const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' };
    const token = await this.#ask('PUT', new URL('/latest/api/token', endpoint), ttl, signal);
    const session =
      token.type === 'reply' && token.reply.status === 200
        ? { 'x-aws-ec2-metadata-token': token.reply.text.trim() }
        : {};
    const roles = await this.#ask('GET', new URL(rolesPath, endpoint), session, signal);
    const about = `there are no credentials for Amazon EBS: ${credentialAbsent.format({ key: 'accessKeyId' })}the instance metadata service of EC2 at ${endpoint}`;
    const unavailable = (finding: string, remedy: string): DriverError =>
      new DriverError('Unavailable', `${about} ${finding}; ${repeated}; ${remedy}; ${elsewhere}`);
    const rejected = (finding: string, remedy: string): DriverError =>
      new DriverError('CredentialsRejected', `${about} ${finding}; ${remedy}; ${elsewhere}`);
    const reach = 'permit connections of kedged to this address';
    switch (roles.type) {
      case 'silent':
        return unavailable(`did not answer in ${answerMs} ms`, reach);
      case 'failed':
        return unavailable(`can't be reached (${roles.why})`, reach);
      case 'reply':
    }
    const { status, text } = roles.reply;
    if (status === 401 && token.type === 'silent')
      return unavailable(
        'did not send a session token, which it requires',
        `from a container this needs a hop limit of 2: ${hopLimit}`,
      );
    if (status === 404) return rejected('has no role (status 404)', 'give the instance a role');
    if (status === 403)
      return rejected(
        'is switched off (status 403)',
        'switch it on: aws ec2 modify-instance-metadata-options --instance-id ID --http-endpoint enabled',
      );
    if (status !== 200) return unavailable(`answers with status ${status}`, 'check proxies');
    const [role = ''] = text.trim().split('\n');
    if (!/^[\w+=,.@-]{1,128}$/.test(role))
      return unavailable('answers with a text that is not the name of a role', 'check proxies');
    const path = new URL(`${rolesPath}${role}`, endpoint);
    const given = await this.#ask('GET', path, session, signal);
    if (given.type !== 'reply')
      return unavailable(`did not answer in ${answerMs} ms with the credential of its role`, reach);
    if (given.reply.status !== 200)
      return unavailable(
        `answers with status ${given.reply.status} for the credential of its role`,
        'check the role of the instance',
      );
    return unavailable(findingIn(given.reply.text), 'check proxies and the role of the instance');
  }
}
