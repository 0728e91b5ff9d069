import { DriverError } from '@kedge/driver-sdk';
import { credentialAbsent } from '@kedge/driver-sdk/messages';
import { type ProviderClock, redacted, withDeadline } from '@kedge/driver-sdk/provider';
import type { Identity, ServiceAccountKey } from './credentials.js';
import type { AuthClient, AuthSdk } from './sdk.js';

/** The scope of tokens that covers disks, snapshots and instances. */
const scope = 'https://www.googleapis.com/auth/compute';
const clientsMax = 1_000;

/** The parts of the headers of a request that come from its credential. */
export interface Authorization {
  readonly token: string;
  /** Further headers, such as the project that is charged for requests. */
  readonly headers: Readonly<Record<string, string>>;
}

/** Dependencies of {@link Authorizations}. */
export interface AuthorizationPorts {
  readonly clock: ProviderClock;
  readonly timeoutMs: number;
  readonly sdk: () => AuthSdk;
}

/** The address of the metadata server, as the library finds it. */
const metadataServer =
  'the metadata server (at GCE_METADATA_HOST, by default metadata.google.internal, 169.254.169.254)';

/** The start of the library's error if no source has credentials: neither a file nor a metadata server. */
const notFound = 'Could not load the default credentials.';
const withoutKey = credentialAbsent.format({ key: 'credentialsJSON' });

function wordsOf(thrown: unknown): string {
  // The error of the JSON parser quotes the file of the credentials, and one of a value's type may quote the answer.
  if (thrown instanceof SyntaxError) return 'the file of the credentials is not JSON';
  if (thrown instanceof TypeError)
    return 'the answer of the metadata server is not a token, or a value in the file of the credentials (GOOGLE_APPLICATION_CREDENTIALS) has the wrong type';
  const words = thrown instanceof Error ? thrown.message.slice(0, 500) : String(thrown);
  return words.startsWith(notFound)
    ? 'no file has them (GOOGLE_APPLICATION_CREDENTIALS, or the one of gcloud), and the metadata server did not answer'
    : words;
}

/** The tokens of credentials. Waits for metadata servers and token endpoints end at a deadline. */
export class Authorizations {
  readonly #ports: AuthorizationPorts;
  /** Clients of keys by the id of the credential, the most recently used last. */
  readonly #ofKeys = new Map<string, AuthClient>();
  #ofNode: Promise<AuthClient> | undefined;
  #project: string | undefined;

  constructor(ports: AuthorizationPorts) {
    this.#ports = ports;
  }

  async #inTime<T>(
    what: string,
    signal: AbortSignal,
    work: () => Promise<T>,
    absent = '',
  ): Promise<T> {
    const { clock, timeoutMs } = this.#ports;
    const late = (cause: 'deadline' | 'cancelled'): Error =>
      cause === 'cancelled'
        ? new DriverError('Timeout', `the wait for ${what} was cancelled`)
        : new DriverError(
            'Unavailable',
            `${absent}Google Cloud gave no ${what} in ${timeoutMs} ms; it is requested again; permit connections of kedged to ${metadataServer}, or set credentialsJSON and project in the class`,
          );
    let isOver = false;
    try {
      return await withDeadline(clock, timeoutMs, signal, late, () =>
        work().finally(() => {
          isOver = true;
        }),
      );
    } catch (error) {
      // The library shares an unanswered request among its callers, and sets no timeout on an instance of the provider.
      if (!isOver) this.#forgetNode();
      throw error;
    }
  }

  /** Lets the next call look for default credentials again. */
  #forgetNode(): void {
    this.#ofNode = undefined;
    this.#ports.sdk().gcpMetadata.resetIsAvailableCache();
  }

  /**
   * Returns the authorization of a request.
   * @throws DriverError InvalidParameters for a key that can't sign; Unavailable if the default credentials give no
   *   token
   */
  async of(identity: Identity, signal: AbortSignal): Promise<Authorization> {
    const headers = await (identity.key
      ? this.#ofKey(identity.id, identity.key)
      : this.#inTime(
          'token of the default credentials',
          signal,
          () => this.#ofDefault(),
          withoutKey,
        ));
    const authorization = headers.get('authorization') ?? '';
    const token = authorization.replace(/^Bearer /i, '');
    if (token === '')
      throw new DriverError(
        'Unavailable',
        'the credentials of Google Cloud gave no token; check the service account, or set credentialsJSON to another key',
      );
    const charged = headers.get('x-goog-user-project');
    return { token, headers: charged === null ? {} : { 'x-goog-user-project': charged } };
  }

  /** The key signs tokens itself, so that no token is requested: the `token_uri` of a key is not used. */
  async #ofKey(id: string, { email, key, keyId }: ServiceAccountKey): Promise<Headers> {
    let client = this.#ofKeys.get(id);
    if (!client) {
      const { JWT } = this.#ports.sdk();
      const options = { email, key, scopes: [scope] };
      const signer = new JWT(keyId === undefined ? options : { ...options, keyId });
      signer.useJWTAccessWithScope = true;
      client = signer;
    }
    this.#ofKeys.delete(id);
    this.#ofKeys.set(id, client);
    if (this.#ofKeys.size > clientsMax)
      for (const oldest of this.#ofKeys.keys()) {
        this.#ofKeys.delete(oldest);
        break;
      }
    try {
      return await client.getRequestHeaders();
    } catch (thrown) {
      const words = redacted(wordsOf(thrown), [key]);
      throw new DriverError(
        'InvalidParameters',
        `parameter credentialsJSON: the key can't sign: ${words}; use an RSA key of a service account`,
      );
    }
  }

  async #ofDefault(): Promise<Headers> {
    const { GoogleAuth } = this.#ports.sdk();
    this.#ofNode ??= new GoogleAuth({ scopes: [scope] }).getClient();
    const client = this.#ofNode;
    try {
      return await (await client).getRequestHeaders();
    } catch (thrown) {
      // A role or a file may have been added. A late error does not concern the client of later calls.
      if (this.#ofNode === client) this.#forgetNode();
      throw new DriverError(
        'Unavailable',
        `${withoutKey}the default credentials of this node can't be used: ${wordsOf(thrown)}; they are requested again; give the node a service account and permit connections to ${metadataServer}, or set credentialsJSON to a secret reference`,
      ); // without a cause: errors of the library have the request, which may contain a secret
    }
  }

  /**
   * Returns the project of the node, as its metadata server names it.
   * @throws DriverError InvalidParameters if there is no metadata server; Unavailable if it does not name the
   *   project, or not in time
   */
  async projectOfNode(signal: AbortSignal): Promise<string> {
    this.#project ??= await this.#inTime('project of the node', signal, async () => {
      const { gcpMetadata } = this.#ports.sdk();
      // On an instance of the provider, an unreachable metadata server is not a missing one.
      if (!gcpMetadata.getGCPResidency() && !(await gcpMetadata.isAvailable())) {
        gcpMetadata.resetIsAvailableCache();
        throw new DriverError(
          'InvalidParameters',
          'parameter project: is required, because this node has no metadata server of Google Cloud that names its project',
        );
      }
      try {
        return String(await gcpMetadata.project('project-id'));
      } catch (thrown) {
        throw new DriverError(
          'Unavailable',
          `${metadataServer} does not name the project of this node: ${wordsOf(thrown)}; the call is repeated; or set the parameter project`,
        );
      }
    });
    return this.#project;
  }
}
