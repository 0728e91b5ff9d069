import type { StatusError } from 'kedge';
import type { Installation } from '../../installation.js';

/** The server of a call, and the names of the programs. */
export interface Called {
  /** The address as configured; undefined if it is not known. */
  readonly server: string | undefined;
  readonly installation: Pick<Installation, 'kedge' | 'start'>;
  /** Whether the token is that of KEDGE_TOKEN, which overrides stored tokens. */
  readonly isTokenGiven?: boolean;
}

/** The text that grpc-js puts around the cause. */
const wrapping =
  /^No connection established\. Last error: (?:Error: )?(.*?)\.? *Resolution note: *$/s;

/** The cause in an error text of grpc-js, as `no connection: CAUSE`. Returns any other text unchanged. */
export function causeIn(message: string): string {
  const [, cause] = wrapping.exec(message) ?? [];
  return cause === undefined ? message : `no connection: ${cause}`;
}

/** The remedy for a connection failure, a refused token or a missing namespace; undefined for any other error. */
export function adviceOn(
  {
    code,
    reason,
    message,
    resource,
  }: Pick<StatusError, 'code' | 'reason' | 'message'> & Partial<Pick<StatusError, 'resource'>>,
  { server = 'the server', installation, isTokenGiven = false }: Called,
): string | undefined {
  const { kedge, start } = installation;
  if (code === 'Unauthenticated' && reason !== 'NoContext')
    return `${
      isTokenGiven
        ? 'Set KEDGE_TOKEN to a valid token, or unset it and store one'
        : 'Store a valid token'
    }: ${kedge} login --server ${server} < token-file (with the --name and the TLS options of its context). A user with policy admin creates one: ${kedge} token create USER; a new root token: kedged recover-root`;
  if (reason === 'NamespaceNotFound')
    return `Create it: ${kedge} create namespace ${resource?.name ?? 'NAME'}, or add it to the same file: kind: Namespace`;
  if (/HTTP status code/.test(message))
    return `The server that answers at ${server} is not kedged: set --server to its gRPC address, and check http_proxy and no_proxy`;
  if (code !== 'Unavailable' || reason !== 'Unavailable') return undefined;
  if (/Protocol error|Parse Error/.test(message))
    return `${server} is not the gRPC port of kedged; the default gRPC port is 7863 (7861 is REST)`;
  if (/Name resolution failed|ERR_SOCKET_BAD_PORT|ENOTFOUND/.test(message))
    return `${server} can't be resolved: set the server to HOST:PORT, such as 127.0.0.1:7863`;
  if (/certificate|altnames|CERT_/i.test(message))
    return `The certificate of ${server} is not trusted or is not valid for this name: log in with the --ca-file of its certificate authority, see ${kedge} login --help`;
  return `Is kedged running at ${server}? Start it with: ${start}`;
}
