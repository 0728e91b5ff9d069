import type { StatusError } from 'kedge';
import type { Installation } from '../../installation.js';

/** The server of a call, and the names of the programs. */
export interface Called {
  /** The address as configured; undefined if it is not known. */
  readonly server: string | undefined;
  readonly installation: Pick<Installation, 'kedge' | 'start'>;
}

/** The text that grpc-js puts around the cause. */
const wrapping =
  /^No connection established\. Last error: (?:Error: )?(.*?)\.? *Resolution note: *$/s;

/** The error text without the prefix of grpc-js. */
export function causeIn(message: string): string {
  const [, cause] = wrapping.exec(message) ?? [];
  return cause === undefined ? message : `no connection: ${cause}`;
}

/** The remedy for a connection failure or a refused token. */
export function adviceOn(
  {
    code,
    reason,
    message,
    resource,
  }: Pick<StatusError, 'code' | 'reason' | 'message'> & Partial<Pick<StatusError, 'resource'>>,
  { server = 'the server', installation }: Called,
): string | undefined {
  const { kedge, start } = installation;
  if (code === 'Unauthenticated' && reason !== 'NoContext')
    return `Store a token that is good: ${kedge} login < token-file. Who has the policy admin makes one: ${kedge} token create USER; that of root: kedged recover-root`;
  if (reason === 'NamespaceNotFound')
    return `Create it: ${kedge} create namespace ${resource?.name ?? 'NAME'}, or give it in the same file: kind: Namespace`;
  if (/HTTP status code/.test(message))
    return `Something else than kedged answers for ${server}: name its gRPC address, and look at http_proxy and no_proxy`;
  if (code !== 'Unavailable' || reason !== 'Unavailable') return undefined;
  if (/Protocol error|Parse Error/.test(message))
    return `What listens at ${server} is not the gRPC port of kedged, which is 7863 where nothing else is configured (7861 is REST)`;
  if (/Name resolution failed|ERR_SOCKET_BAD_PORT|ENOTFOUND/.test(message))
    return `${server} can't be found: give HOST:PORT, such as 127.0.0.1:7863`;
  return `Is kedged running at ${server}? Start it with: ${start}`;
}
