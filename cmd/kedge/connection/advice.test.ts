import { expect } from 'chai';
import type { StatusCode } from 'kedge';
import { adviceOn } from './advice.js';
import { causeIn } from './connection-faults.js';

const called = { server: 'host:1', installation: { kedge: 'kedge', start: 'npm start' } };
const advice = (message: string, code: StatusCode = 'Unavailable', reason: string = code) =>
  adviceOn({ code, reason, message }, called);

describe('the advice of a command on a failed call', () => {
  it('shows the cause without the prefix of grpc-js', () => {
    const wrapped = (cause: string): string =>
      `No connection established. Last error: ${cause}. Resolution note: `;
    expect(causeIn(wrapped('Error: connect ECONNREFUSED 127.0.0.1:1'))).to.equal(
      'no connection: connect ECONNREFUSED 127.0.0.1:1',
    );
    expect(causeIn('Connection dropped')).to.equal('Connection dropped');
    const openssl =
      '801CAAF6A57F0000:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:../deps/a.c:350:\n';
    expect(causeIn(wrapped(openssl))).to.equal('no connection: TLS: wrong version number');
    expect(causeIn(wrapped('undefined'))).to.equal('no connection through the HTTP proxy');
  });

  it('names the daemon, the gRPC port, the host name or the proxy to check', () => {
    for (const server of ['127.0.0.1:7863', 'localhost:7863', '[::1]:7863'])
      expect(
        adviceOn(
          { code: 'Unavailable', reason: 'Unavailable', message: 'connect ECONNREFUSED' },
          { ...called, server },
        ),
      ).to.equal(`Is kedged running at ${server}? Start it with: npm start`);
    // A daemon that is started here would be another one.
    expect(advice('connect ECONNREFUSED'))
      .to.contain('Is kedged running at host:1? Start it on its machine')
      .and.contain('kedge login --server HOST:PORT')
      .and.not.contain('npm start');
    for (const cause of ['self-signed certificate', 'unable to verify the first certificate'])
      expect(advice(cause)).to.contain('--ca-file').and.not.contain('running');
    expect(advice('Protocol error')).to.contain('is not the gRPC port').and.contain('7863');
    expect(advice('Name resolution failed for target dns:host')).to.contain(
      'set the server to HOST:PORT',
    );
    expect(advice('Received HTTP status code 404', 'Unimplemented')).to.contain('http_proxy');
  });

  for (const [fault, cause, words, code] of [
    ['a client without TLS', 'Failed to connect (2026-11-26T21:25:41.944Z)', '--tls or --ca-file'],
    ['a server that closes the connection', 'read ECONNRESET', '7861 is REST'],
    ['a client with TLS', 'error:0A00010B:wrong version number:', 'log in without --tls'],
    ['a REST port with TLS', 'tlsv1 alert no application protocol', 'is not the gRPC port'],
    ['an expired certificate', 'Error: certificate has expired', 'clock of this machine'],
    [
      'a certificate that is not valid yet',
      'Error: certificate is not yet valid',
      'clock of this machine',
    ],
    [
      'a certificate of another name',
      "Error [ERR_TLS_CERT_ALTNAME_INVALID]: Hostname/IP does not match certificate's altnames: a",
      'a --server that it names',
    ],
    ['an unknown authority', 'Error: self-signed certificate', '--ca-file'],
    [
      'a missing client certificate',
      '80EC87464E7F0000:error:0A00045C:SSL routines:ssl3_read_bytes:tlsv13 alert certificate required:../deps/a.c:1601:SSL alert number 116\n (2026-11-27T07:05:25.802Z)',
      'requires a client certificate that it accepts: log in with --cert-file',
    ],
    ['a client certificate that is refused', 'Failed to connect (2026)', '--cert-file'],
    [
      'a server that ends the handshake',
      'Client network socket disconnected before secure TLS connection was established',
      '--cert-file',
    ],
    ['a proxy that refuses', 'undefined', 'add its host to no_proxy'],
    ['HTML', 'Received RST_STREAM with code 0 (Call ended without gRPC status)', 'is not kedged'],
    ['another gRPC server', 'unknown service', 'is not kedged', 'Unimplemented'],
    [
      'a broken stream',
      'Received RST_STREAM with code 2 (Internal)',
      'without the proxy',
      'Internal',
    ],
  ] as const)
    it(`names the remedy for ${fault}`, () => {
      const isAnswer = code !== undefined || cause.startsWith('Received');
      const text = isAnswer
        ? cause
        : `No connection established. Last error: ${cause}. Resolution note: `;
      expect(advice(text, code)).to.contain(words).and.contain('host:1').and.not.contain('running');
    });

  it('names the address and the remedies if the server does not answer', () => {
    const waiting =
      'Deadline exceeded after 29.999s,name resolution: 0.025s,metadata filters: 0.001s,Waiting for LB pick';
    expect(causeIn(waiting)).to.equal('no connection within 30 s');
    const called30 = 'Deadline exceeded after 30.002s,remote_addr=127.0.0.1:7863';
    expect(causeIn(called30)).to.equal('no answer within 30 s');
    for (const [text, code] of [
      [waiting, 'DeadlineExceeded'],
      [called30, 'DeadlineExceeded'],
      ['no connection within 30 s', 'Unavailable'],
    ] as const)
      expect(advice(text, code, code))
        .to.match(/^host:1 does not answer/)
        .and.contain('restart kedged')
        .and.contain('set --server');
    expect(advice('the wait is over', 'DeadlineExceeded', 'WaitTimeout')).to.equal(undefined);
  });

  it('names the command that stores a valid token', () => {
    expect(advice('has expired', 'Unauthenticated', 'InvalidToken')).to.contain('kedge login');
    expect(advice('has expired', 'Unauthenticated', 'InvalidToken')).to.match(
      /^Store a valid token: kedge login --server host:1 < token-file/,
    );
    const error = { code: 'Unauthenticated', reason: 'InvalidToken', message: 'expired' } as const;
    expect(adviceOn(error, { ...called, isTokenGiven: true })).to.match(/^Set KEDGE_TOKEN to/);
    // The message already names the remedy.
    expect(advice('no token is stored', 'Unauthenticated', 'NoContext')).to.equal(undefined);
  });

  it('is absent if the server returned the cause', () => {
    expect(advice('the disk is full', 'Unavailable', 'DiskFull')).to.equal(undefined);
    expect(advice('does not exist', 'NotFound')).to.equal(undefined);
  });
});
