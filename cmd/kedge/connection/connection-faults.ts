/** The server of a call, and the command of the CLI. */
export interface Addressed {
  /** The address as configured. */
  readonly server: string;
  readonly kedge: string;
}

/** A failed connection, by words in the error of the gRPC client. */
interface ConnectionFault {
  readonly words: RegExp;
  readonly remedy: (addressed: Addressed) => string;
}

const ports = 'the default gRPC port is 7863 (7861 is REST)';

const notKedged = ({ server }: Addressed): string =>
  `The server that answers at ${server} is not kedged: set --server to its gRPC address, and check http_proxy and no_proxy`;

const notGrpc = ({ server }: Addressed): string =>
  `${server} is not the gRPC port of kedged; ${ports}`;

/** Answers that the gRPC client can't read. They have various status codes. */
const unreadableAnswers: readonly ConnectionFault[] = [
  { words: /HTTP status code|without gRPC status/, remedy: notKedged },
  { words: /^unknown service|does not implement the method/, remedy: notKedged },
  {
    words: /RST_STREAM with code/,
    remedy: ({ server }) =>
      `${server}, or a proxy before it, ended the call: repeat it, and if it fails again, set --server to the gRPC address of kedged without the proxy`,
  },
];

/** No connection in the time of a stream, and no answer in that of a call, as {@link causeIn} returns them. */
const silence = /^no (?:connection|answer) within [\d.]+ s$/;

const silent = ({ server, kedge }: Addressed): string =>
  `${server} does not answer: if it is the gRPC port of kedged, its kedged is stopped or overloaded, or a firewall drops what is sent: continue or restart kedged, or correct the firewall; else set --server to the gRPC address (${kedge} login --server HOST:PORT < token-file); ${ports}`;

/** Connections that were not established. */
const noConnection: readonly ConnectionFault[] = [
  { words: silence, remedy: silent },
  { words: /Protocol error|no application protocol/, remedy: notGrpc },
  {
    words: /wrong version number|packet length too long/,
    remedy: ({ server, kedge }) =>
      `${server} does not use TLS, and the context does: if it is the gRPC port of kedged, log in without --tls and --ca-file (${kedge} login --server ${server} < token-file); ${ports}`,
  },
  {
    // A server with TLS closes the connection of a client without TLS, or with a client certificate that it refuses.
    words: /Failed to connect|ECONNRESET|socket disconnected before/,
    remedy: ({ server, kedge }) =>
      `${server} closed the connection: if its kedged uses TLS, log in with --tls or --ca-file, and if it requires client certificates, with the --cert-file and --key-file of one that it accepts, see ${kedge} login --help; else it may not be the gRPC port: ${ports}`,
  },
  {
    words: /HTTP proxy/,
    remedy: ({ server }) =>
      `The proxy in http_proxy or grpc_proxy does not connect to ${server}: add its host to no_proxy, or correct the proxy`,
  },
  {
    words: /Name resolution failed|ERR_SOCKET_BAD_PORT|ENOTFOUND/,
    remedy: ({ server }) =>
      `${server} can't be resolved: set the server to HOST:PORT, such as 127.0.0.1:7863`,
  },
  {
    words: /alert (?:certificate|bad certificate|unknown ca)/,
    remedy: ({ server, kedge }) =>
      `${server} requires a client certificate that it accepts: log in with --cert-file and --key-file, see ${kedge} login --help`,
  },
  {
    words: /certificate (?:has expired|is not yet valid)/,
    remedy: ({ server }) =>
      `The certificate of ${server} is not valid now: renew it, or correct the clock of this machine`,
  },
  {
    words: /altnames/,
    remedy: ({ server, kedge }) =>
      `The certificate of ${server} does not name this host: log in with a --server that it names, see ${kedge} login --help, or issue a certificate that names this host`,
  },
  {
    words: /certificate|CERT_/i,
    remedy: ({ server, kedge }) =>
      `The certificate of ${server} is not trusted: log in with the --ca-file of its certificate authority, see ${kedge} login --help`,
  },
];

/** The text that grpc-js puts around the cause. */
const wrapping =
  /^No connection established\. Last error: (?:Error: )?(.*?)\.? *Resolution note: *$/s;
/** An error of OpenSSL with its place in the source. */
const ofOpenssl = /^[0-9A-F]+:error:[0-9A-F]+:SSL routines:[^:]*:([^:]+):.*$/s;

/** The deadline of a call, and what the client did when it passed. */
const deadline = /^Deadline exceeded after ([\d.]+)s,/;

/**
 * The cause in an error text of grpc-js: `no connection: CAUSE`, `no connection through the HTTP proxy`, or `no
 * connection within TIME` or `no answer within TIME` for a deadline. Returns any other text unchanged.
 */
export function causeIn(message: string): string {
  const [, seconds] = deadline.exec(message) ?? [];
  if (seconds !== undefined) {
    const missing = message.endsWith('Waiting for LB pick') ? 'connection' : 'answer';
    return `no ${missing} within ${Math.round(Number(seconds) * 10) / 10} s`;
  }
  const [, wrapped] = wrapping.exec(message) ?? [];
  if (wrapped === undefined) return message;
  // grpc-js reports no error for a refused CONNECT.
  if (wrapped === 'undefined') return 'no connection through the HTTP proxy';
  const [, words] = ofOpenssl.exec(wrapped) ?? [];
  return `no connection: ${words === undefined ? wrapped : `TLS: ${words}`}`;
}

function remedyIn(
  faults: readonly ConnectionFault[],
  message: string,
  addressed: Addressed,
): string | undefined {
  return faults.find(({ words }) => words.test(message))?.remedy(addressed);
}

/** The remedy for an answer that the client can't read; undefined for any other error. */
export function unreadableAnswer(message: string, addressed: Addressed): string | undefined {
  return remedyIn(unreadableAnswers, message, addressed);
}

/** The remedy for a connection that was not established; undefined if the text does not name the fault. */
export function connectionFault(message: string, addressed: Addressed): string | undefined {
  return remedyIn(noConnection, causeIn(message), addressed);
}
