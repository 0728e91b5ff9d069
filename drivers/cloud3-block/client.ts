import { createHash } from 'node:crypto';
import { DriverError } from '@kedge/driver-sdk';
import { answerUnreadable } from '@kedge/driver-sdk/messages';
import { Fields, type ProviderClient, redacted, withDeadline } from '@kedge/driver-sdk/provider';
import type { Ec2Caller } from './parameters.js';
import type {
  Action,
  AwsKeys,
  Ec2Sdk,
  SdkClient,
  SdkHandler,
  SdkLogger,
  SdkRequest,
} from './sdk.js';

const clientsMax = 200;

/** One call that is under way: its signed request is sent for it. */
interface Sent {
  readonly action: Action;
  readonly caller: Ec2Caller;
  readonly about: string | readonly string[];
  readonly keys: AwsKeys;
}

/**
 * Converts warnings of the SDK to warnings of the process, which kedged logs once each. The other texts of the SDK
 * contain inputs of calls and are dropped; the journal has an entry for each call.
 */
const logger: SdkLogger = {
  trace: () => undefined,
  debug: () => undefined,
  info: () => undefined,
  warn: (...content) => {
    const [text] = content;
    if (typeof text === 'string') process.emitWarning(text, 'AwsSdkWarning');
  },
  error: () => undefined,
};

/** Whether an action changes something at the provider. */
export function changes(action: Action): boolean {
  return !action.startsWith('Describe');
}

/**
 * Calls EC2. The SDK makes, signs and reads the requests; {@link ProviderClient} sends them with its deadline, budget
 * and journal. The SDK makes one attempt: repetitions are the driver's. Throws only DriverError.
 */
export class Ec2Client {
  readonly provider: ProviderClient;
  readonly #load: () => Ec2Sdk;
  #loaded: Ec2Sdk | undefined;
  readonly #endpoint: string | undefined;
  readonly #timeoutMs: number;
  /** Clients by region and credential, the most recently used last. */
  readonly #clients = new Map<string, SdkClient>();
  /** Calls under way, by the signal of their request. */
  readonly #sent = new WeakMap<object, Sent>();

  /** @param endpoint the origin of all regions; absent: the public one of each region */
  constructor(
    provider: ProviderClient,
    load: () => Ec2Sdk,
    { endpoint, timeoutMs }: { readonly endpoint: string | undefined; readonly timeoutMs: number },
  ) {
    this.provider = provider;
    this.#load = load;
    this.#endpoint = endpoint;
    this.#timeoutMs = timeoutMs;
  }

  /** An identifier for the credential and the region of a caller, which does not reveal the credential. */
  identity({ region, keys }: Pick<Ec2Caller, 'region' | 'keys'>): string {
    const secret = keys ? JSON.stringify(keys) : 'default chain';
    return `${region} ${createHash('sha256').update(secret).digest('hex')}`;
  }

  /**
   * Loads the SDK at the first call.
   * @throws DriverError Unavailable if it is not installed; Internal if it can't be loaded
   */
  requireSdk(): Ec2Sdk {
    this.#loaded ??= this.#load();
    return this.#loaded;
  }

  /** Finds the credentials of a caller, without a call of EC2. @throws DriverError if it finds none in time */
  async requireCredentials(caller: Ec2Caller): Promise<void> {
    await this.#keys(this.#client(caller), caller);
  }

  #client(caller: Ec2Caller): SdkClient {
    const { region, keys } = caller;
    const key = this.identity(caller);
    const client =
      this.#clients.get(key) ??
      new (this.requireSdk().EC2Client)({
        region,
        ...(this.#endpoint === undefined ? {} : { endpoint: this.#endpoint }),
        ...(keys ? { credentials: keys } : {}),
        maxAttempts: 1,
        requestHandler: this.#handler,
        logger,
      });
    this.#clients.delete(key);
    this.#clients.set(key, client);
    if (this.#clients.size > clientsMax)
      for (const [oldest, unused] of this.#clients) {
        this.#clients.delete(oldest);
        unused.destroy();
        break;
      }
    return client;
  }

  readonly #handler: SdkHandler = {
    handle: async (request, options) => {
      const signal = options?.abortSignal;
      const sent = typeof signal === 'object' && signal ? this.#sent.get(signal) : undefined;
      if (!sent) throw new TypeError('a request of the SDK belongs to no call');
      const text = await this.#send(request, sent);
      const headers = { 'content-type': 'text/xml;charset=UTF-8' };
      return { response: { statusCode: 200, headers, body: Buffer.from(text) } };
    },
  };

  async #send(request: SdkRequest, { action, caller, about, keys }: Sent): Promise<string> {
    const { protocol, hostname, port, path, headers, body } = request;
    const host = port === undefined ? hostname : `${hostname}:${port}`;
    const text = await this.provider.call({
      name: action,
      method: 'POST',
      path: `/?Action=${action}`,
      token: keys.secretAccessKey,
      secrets: furtherSecrets(keys),
      credential: `${caller.region} ${keys.accessKeyId}`,
      about,
      signal: caller.signal,
      signed: {
        url: new URL(path, `${protocol}//${host}`),
        headers,
        body: typeof body === 'string' ? body : '',
        changes: changes(action),
      },
    });
    if (typeof text === 'string') return text;
    throw new DriverError(
      changes(action) ? 'Timeout' : 'Unavailable',
      `Amazon EBS answered ${action} with an empty body; check the endpoint of [drivers.cloud3-block] and proxies`,
    );
  }

  /** The credentials of a call. The provider's chain may ask the instance's metadata server, which may hang. */
  async #keys(client: SdkClient, { signal, region }: Ec2Caller): Promise<AwsKeys> {
    const late = (): Error =>
      new DriverError(
        'Unavailable',
        `the credentials for Amazon EBS in ${region} were not found in ${this.#timeoutMs} ms; they are looked for again`,
      );
    const { clock } = this.provider;
    try {
      return await withDeadline(clock, this.#timeoutMs, signal, late, () =>
        client.config.credentials(),
      );
    } catch (thrown) {
      if (thrown instanceof DriverError) throw thrown;
      const { message } = thrown as Error;
      throw new DriverError(
        'CredentialsRejected',
        `there are no credentials for Amazon EBS: ${message}; set accessKeyId and secretAccessKey in the class, or give the instance of this node a role`,
        { cause: thrown },
      );
    }
  }

  /**
   * Makes a call and returns the fields of its answer.
   * @param about the volumes and snapshots of the call, for the journal; default: that of the caller
   * @throws DriverError
   */
  async call(
    caller: Ec2Caller,
    action: Action,
    input: Readonly<Record<string, unknown>>,
    about: string | readonly string[] = caller.about,
  ): Promise<Fields> {
    const client = this.#client(caller);
    const keys = await this.#keys(client, caller);
    const command = new (this.requireSdk()[`${action}Command`])(input);
    const abort = new AbortController();
    this.#sent.set(abort.signal, { action, caller, about, keys });
    try {
      const answer = await client.send(command, { abortSignal: abort.signal });
      return new Fields(action, answer, changes(action));
    } catch (thrown) {
      if (thrown instanceof DriverError) throw thrown;
      const message = redacted(thrown instanceof Error ? thrown.message : String(thrown), [
        keys.secretAccessKey,
        ...furtherSecrets(keys),
      ]);
      throw new DriverError(
        changes(action) ? 'Timeout' : 'Unavailable',
        `${action} at Amazon EBS: ${answerUnreadable.format()} ${message}`,
        { cause: thrown },
      );
    }
  }
}

function furtherSecrets({ sessionToken }: AwsKeys): readonly string[] {
  return sessionToken === undefined ? [] : [sessionToken];
}

/**
 * Whether a text is a complete answer to an action. The SDK would read another text, such as a page of a gateway, as an
 * empty list.
 */
export function isAnswerTo(action: string, text: string): boolean {
  return text.includes(`<${action}Response`) && text.trimEnd().endsWith(`</${action}Response>`);
}

const entities: Readonly<Record<string, string>> = {
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&apos;': "'",
  '&amp;': '&',
};

/** The text of the first element with a name that has no attributes and no child elements; empty if there is none. */
export function elementText(xml: string, name: string): string {
  const [, text = ''] = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml) ?? [];
  return text.replaceAll(/&(lt|gt|quot|apos|amp);/g, (entity) => entities[entity] ?? entity);
}
