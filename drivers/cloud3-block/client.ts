import { createHash } from 'node:crypto';
import { DriverError } from '@kedge/driver-sdk';
import { answerUnreadable } from '@kedge/driver-sdk/messages';
import { Fields, type ProviderClient, redacted, withDeadline } from '@kedge/driver-sdk/provider';
import { MetadataService } from './credentials/metadata-service.js';
import type { Ec2Caller } from './parameters.js';
import {
  type Action,
  asksMetadata,
  type AwsKeys,
  type Ec2Sdk,
  metadataEndpoint,
  type SdkClient,
  type SdkHandler,
  type SdkLogger,
  type SdkRequest,
} from './sdk.js';

const clientsMax = 200;

/** One call that is under way: its signed request is sent for it. */
interface Sent {
  readonly action: Action;
  readonly caller: Ec2Caller;
  readonly about: string | readonly string[];
  readonly keys: AwsKeys;
}

/** A client of the SDK, with what is known about its chain of default credentials. */
interface Known {
  readonly client: SdkClient;
  /** Whether the chain has asked the instance metadata service. */
  readonly asked: { metadata: boolean };
  /** Finds out why that service gave no credentials; calls at the same time share it. */
  reason?: Promise<DriverError> | undefined;
}

/**
 * Converts warnings of the SDK to warnings of the process, which kedged logs once each. The other texts of the SDK
 * contain inputs of calls and are dropped; the journal has an entry for each call.
 */
function loggerOf(asked: { metadata: boolean }): SdkLogger {
  return {
    trace: () => undefined,
    debug: (text) => {
      if (asksMetadata(text)) asked.metadata = true;
    },
    info: () => undefined,
    warn: (...content) => {
      const [text] = content;
      if (typeof text === 'string') process.emitWarning(text, 'AwsSdkWarning');
    },
    error: () => undefined,
  };
}

/** Whether an action changes something at the provider. */
export function changes(action: Action): boolean {
  return !action.startsWith('Describe');
}

/** The remedy for an address of the metadata service that the SDK can't read. */
const addressCheck =
  'check AWS_EC2_METADATA_SERVICE_ENDPOINT (a URL, such as http://169.254.169.254) and AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE (IPv4 or IPv6) in the environment of kedged, or ec2_metadata_service_endpoint and ec2_metadata_service_endpoint_mode in the configuration file of AWS';

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
  readonly #metadata: MetadataService;
  /** Clients by region and credential, the most recently used last. */
  readonly #clients = new Map<string, Known>();
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
    this.#metadata = new MetadataService(provider.clock);
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
    await this.#keys(this.#known(caller), caller);
  }

  #known(caller: Ec2Caller): Known {
    const key = this.identity(caller);
    const known = this.#clients.get(key) ?? this.#create(caller);
    this.#clients.delete(key);
    this.#clients.set(key, known);
    if (this.#clients.size > clientsMax)
      for (const [oldest, unused] of this.#clients) {
        this.#clients.delete(oldest);
        unused.client.destroy();
        break;
      }
    return known;
  }

  #create({ region, keys }: Ec2Caller): Known {
    const asked = { metadata: false };
    const client = new (this.requireSdk().EC2Client)({
      region,
      ...(this.#endpoint === undefined ? {} : { endpoint: this.#endpoint }),
      ...(keys ? { credentials: keys } : {}),
      maxAttempts: 1,
      requestHandler: this.#handler,
      logger: loggerOf(asked),
    });
    return { client, asked };
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
  async #keys(known: Known, { signal, region }: Ec2Caller): Promise<AwsKeys> {
    const { client, asked } = known;
    const late = (): Error =>
      new DriverError(
        'Unavailable',
        `the credentials for Amazon EBS in ${region} were not found in ${this.#timeoutMs} ms; the lookup is repeated`,
      );
    const { clock } = this.provider;
    try {
      return await withDeadline(clock, this.#timeoutMs, signal, late, () =>
        client.config.credentials(),
      );
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      const refusal = asked.metadata ? await this.#refusedByMetadata(known) : 'notAsked';
      if (refusal instanceof DriverError) throw refusal;
      if (thrown instanceof DriverError) throw thrown;
      const { message } = thrown as Error;
      const check = refusal === 'noAddress' ? ` ${addressCheck};` : '';
      throw new DriverError(
        'CredentialsRejected',
        `there are no credentials for Amazon EBS: ${message};${check} set accessKeyId and secretAccessKey in the class, or give the instance of this node a role`,
        { cause: thrown },
      );
    }
  }

  /**
   * The error of a call with credentials of the role that have ended: why the metadata service gave no new ones. The SDK
   * would use the ended ones for minutes, so the next call asks the service again.
   */
  async #withoutRole(caller: Ec2Caller, keys: AwsKeys, error: DriverError): Promise<DriverError> {
    if (error.kind !== 'CredentialsRejected' || keys.originalExpiration === undefined) return error;
    const known = this.#known(caller);
    const refusal = await this.#refusedByMetadata(known);
    if (this.#clients.get(this.identity(caller)) === known)
      this.#clients.delete(this.identity(caller));
    return refusal instanceof DriverError ? refusal : error;
  }

  /** Why the metadata service gave no credentials; `noAddress` if the SDK could not read its address. */
  async #refusedByMetadata(known: Known): Promise<DriverError | 'noAddress'> {
    let endpoint: string;
    try {
      endpoint = await metadataEndpoint();
    } catch (thrown) {
      if (thrown instanceof DriverError) return thrown;
      return 'noAddress'; // the call has failed with the same error, which is reported
    }
    known.reason ??= this.#metadata.refusal(endpoint, new AbortController().signal).finally(() => {
      known.reason = undefined;
    });
    return known.reason;
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
    const known = this.#known(caller);
    const { client } = known;
    const keys = await this.#keys(known, caller);
    const command = new (this.requireSdk()[`${action}Command`])(input);
    const abort = new AbortController();
    this.#sent.set(abort.signal, { action, caller, about, keys });
    try {
      const answer = await client.send(command, { abortSignal: abort.signal });
      return new Fields(action, answer, changes(action));
    } catch (thrown) {
      if (thrown instanceof DriverError) throw await this.#withoutRole(caller, keys, thrown);
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
