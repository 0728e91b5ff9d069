import { expect } from 'chai';
import { type DriverError } from '@kedge/driver-sdk';
import type { ProviderClock } from '@kedge/driver-sdk/provider';
import { Authorizations } from './authorization.js';
import { defaultIdentity } from './credentials.js';
import type { AuthClient, AuthSdk } from './sdk.js';

type Metadata = AuthSdk['gcpMetadata'];

/** Default credentials whose clients come from the given functions, one for each lookup. */
function withDefaults(
  clients: (() => Promise<AuthClient>)[],
  metadata: Partial<Metadata> = {},
): { readonly authorizations: Authorizations; readonly elapse: () => void } {
  const due = new Set<() => void>();
  const clock = {
    setTimer: (callback: () => void) => {
      due.add(callback);
      return { cancel: () => due.delete(callback) };
    },
  } as unknown as ProviderClock;
  class GoogleAuth {
    getClient(): Promise<AuthClient> {
      return clients.shift()!();
    }
  }
  const gcpMetadata: Metadata = {
    isAvailable: () => Promise.resolve(false),
    resetIsAvailableCache: () => undefined,
    getGCPResidency: () => false,
    project: () => Promise.reject(new Error('reset')),
    ...metadata,
  };
  const sdk = { GoogleAuth, gcpMetadata } as unknown as AuthSdk;
  const authorizations = new Authorizations({ clock, timeoutMs: 30_000, sdk: () => sdk });
  return { authorizations, elapse: () => due.forEach((callback) => callback()) };
}

const giving = (token: string) => (): Promise<AuthClient> =>
  Promise.resolve({
    getRequestHeaders: () => Promise.resolve(new Headers({ authorization: `Bearer ${token}` })),
  });

const failureOf = (promise: Promise<unknown>): Promise<DriverError> =>
  promise.then(
    () => expect.fail('no error'),
    (error: unknown) => error as DriverError,
  );

describe('the default credentials of cloud4-disk', () => {
  const { signal } = new AbortController();

  it('are looked up again after a lookup that was never answered', async () => {
    const silent = (): Promise<AuthClient> => new Promise(() => undefined);
    const { authorizations, elapse } = withDefaults([silent, giving('t')]);
    const failure = failureOf(authorizations.of(defaultIdentity, signal));
    elapse();
    expect((await failure).message).to.contain(
      'the class has no credentialsJSON, and Google Cloud gave no token of the default credentials in 30000',
    );
    expect((await authorizations.of(defaultIdentity, signal)).token).to.equal('t');
  });

  it('of later calls are not dropped by a late error', async () => {
    let fail: (error: Error) => void = () => undefined;
    const late = (): Promise<AuthClient> => new Promise((_, reject) => (fail = reject));
    const { authorizations, elapse } = withDefaults([late, giving('t')]);
    const failure = failureOf(authorizations.of(defaultIdentity, signal));
    elapse();
    await failure;
    await authorizations.of(defaultIdentity, signal);
    fail(new Error('reset'));
    await new Promise(setImmediate);
    expect((await authorizations.of(defaultIdentity, signal)).token).to.equal('t');
  });

  it('are not quoted by an error, and no request of the library is its cause', async () => {
    const quoting = new SyntaxError(`Unexpected token 's', "secret" is not valid JSON`);
    const { authorizations } = withDefaults([() => Promise.reject(quoting)]);
    const error = await failureOf(authorizations.of(defaultIdentity, signal));
    expect(error.message).to.contain('not JSON').and.not.contain('secret"');
    expect(error.cause).to.equal(undefined);
  });

  it('name their file if a value in it has the wrong type', async () => {
    const wrong = new TypeError('key must be a string, a buffer or an object');
    const { authorizations } = withDefaults([() => Promise.reject(wrong)]);
    const { message } = await failureOf(authorizations.of(defaultIdentity, signal));
    expect(message).to.contain('file of the credentials (GOOGLE_APPLICATION_CREDENTIALS)');
  });

  it('report that the metadata server did not answer if no source has any, and are retried', async () => {
    const none = 'Could not load the default credentials. Browse to https://cloud.google.com/docs';
    const { authorizations } = withDefaults([() => Promise.reject(new Error(none))]);
    const { kind, message } = await failureOf(authorizations.of(defaultIdentity, signal));
    expect(kind).to.equal('Unavailable');
    expect(message).to.contain('the metadata server did not answer').and.not.contain('Browse');
    expect(message).to.contain('set credentialsJSON to a secret reference');
  });

  it('name the metadata server, and do not quote an answer that is not a token', async () => {
    const quoting = new TypeError("Cannot create property 'refresh_token' on string 'secret'");
    const { authorizations } = withDefaults([() => Promise.reject(quoting)]);
    const { kind, message } = await failureOf(authorizations.of(defaultIdentity, signal));
    expect(kind).to.equal('Unavailable');
    expect(message)
      .to.contain('the answer of the metadata server is not a token')
      .and.contain('metadata.google.internal')
      .and.not.contain("'secret'");
  });

  it('name a project: an unreachable metadata server of an instance is not a missing one', async () => {
    const away = withDefaults([]).authorizations;
    expect((await failureOf(away.projectOfNode(signal))).kind).to.equal('InvalidParameters');
    const instance = withDefaults([], { getGCPResidency: () => true }).authorizations;
    const { kind, message } = await failureOf(instance.projectOfNode(signal));
    expect(kind).to.equal('Unavailable');
    expect(message).to.contain('does not name the project');
  });
});
