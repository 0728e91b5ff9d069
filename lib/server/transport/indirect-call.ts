/** Headers that show the origin of a call, in addition to its connection. */
export interface CallHeaders {
  /** `Host`; over gRPC `:authority`. */
  readonly host: string | undefined;
  readonly origin: string | undefined;
  /** Names of all headers, in lower case. */
  readonly names: readonly string[];
}

/** Headers of proxies with the original caller, in addition to all that start with `x-forwarded-`. */
const proxyHeaders = ['forwarded', 'via', 'x-real-ip', 'x-client-ip', 'true-client-ip'];

const shownMax = 100;

/**
 * Returns the evidence that a call may not originate from the peer of its connection: a proxy forwarded it, a page in a
 * browser of this machine made it, or a foreign DNS name resolved to this machine. Undefined without evidence.
 * @param own the listening host
 */
export function indirection({ host, origin, names }: CallHeaders, own: string): string | undefined {
  const proxied = names.find(
    (name) => proxyHeaders.includes(name) || name.startsWith('x-forwarded-'),
  );
  if (proxied !== undefined)
    return `a proxy forwarded the call (header ${proxied.slice(0, shownMax)})`;
  const named = hostOf(host ?? '');
  if (!isLoopback(named) && named !== own.toLowerCase())
    return `the call was sent to host ${JSON.stringify(named.slice(0, shownMax))}`;
  // With the port: another port of this machine is another origin.
  const page = origin?.toLowerCase().replace(/^https?:\/\//, '');
  if (origin !== undefined && page !== host?.toLowerCase())
    return `a page of ${JSON.stringify(origin.slice(0, shownMax))} sent the call`;
  return undefined;
}

/** The host of an authority, without port and brackets. */
function hostOf(authority: string): string {
  return authority
    .toLowerCase()
    .replace(/:\d+$/, '')
    .replace(/^\[(.*)\]$/, '$1');
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || /^127(\.\d{1,3}){3}$/.test(host);
}
