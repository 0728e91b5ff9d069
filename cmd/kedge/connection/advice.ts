import type { StatusError } from 'kedge';
import type { Installation } from '../../installation.js';
import { connectionFault, unreadableAnswer } from './connection-faults.js';

/** The server of a call, and the names of the programs. */
export interface Called {
  /** The address as configured; undefined if it is not known. */
  readonly server: string | undefined;
  readonly installation: Pick<Installation, 'kedge' | 'start'>;
  /** Whether the token is that of KEDGE_TOKEN, which overrides stored tokens. */
  readonly isTokenGiven?: boolean;
}

/** Whether an address `host:port` is one of this machine, as far as its text shows. */
function isOfThisMachine(server: string): boolean {
  return /^(localhost|127(\.\d+){3}|\[::1\]):\d+$/.test(server);
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
    }: ${kedge} login --server ${server} < token-file (with the --name and the TLS options of its context). A user with policy admin creates one: ${kedge} token create USER; a new root token: stop kedged, then kedged recover-root with its settings`;
  if (reason === 'NamespaceNotFound')
    return `Create it: ${kedge} create namespace ${resource?.name ?? 'NAME'}, or add it to the same file: kind: Namespace`;
  const unreadable = unreadableAnswer(message, { server, kedge });
  if (unreadable !== undefined) return unreadable;
  const isDeadline = code === 'DeadlineExceeded' && reason === 'DeadlineExceeded';
  if (isDeadline) return connectionFault(message, { server, kedge });
  if (code !== 'Unavailable' || reason !== 'Unavailable') return undefined;
  const fault = connectionFault(message, { server, kedge });
  if (fault !== undefined) return fault;
  if (isOfThisMachine(server)) return `Is kedged running at ${server}? Start it with: ${start}`;
  // A daemon that is started here is another one, with another store.
  return `Is kedged running at ${server}? Start it on its machine, or correct the address: ${kedge} login --server HOST:PORT < token-file, or KEDGE_SERVER`;
}
