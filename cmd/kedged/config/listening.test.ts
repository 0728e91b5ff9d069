import { createServer } from 'node:net';
import { expect } from 'chai';
import { bound, requireSafeListening } from './listening.js';

const key = 'server.opsAddress';
const messageOfBind = (error: unknown): Promise<string> =>
  bound(key, 'host:80', Promise.reject(error as Error)).then(
    () => '',
    (thrown: Error) => thrown.message,
  );
const systemError = (code: string, syscall: string): Error =>
  Object.assign(new Error(`${syscall} ${code}`), { code, syscall });

describe('an address that other machines reach', () => {
  const config = {
    grpcAddress: '127.0.0.1:7863',
    restAddress: '127.0.0.1:7861',
    opsAddress: '127.0.0.1:7864',
    allowInsecure: false,
    ...{ tlsCertFile: '', tlsKeyFile: '', tlsClientCaFile: '' },
  };
  const tls = { tlsCertFile: 'cert', tlsKeyFile: 'key' };
  const refusalOf = (changes: object): string => {
    try {
      requireSafeListening({ ...config, ...changes });
      return '';
    } catch (error) {
      return (error as Error).message;
    }
  };

  it('is refused without TLS, which the error names as a remedy', () => {
    expect(refusalOf({ restAddress: '0.0.0.0:1' })).to.contain('set server.tls.certFile');
    expect(refusalOf({ restAddress: '0.0.0.0:1', ...tls })).to.equal('');
  });

  it('is refused for health and metrics also with TLS, which the error does not name as a remedy', () => {
    for (const set of [{}, tls])
      expect(refusalOf({ opsAddress: '0.0.0.0:1', ...set }))
        .to.contain('set server.allowInsecure = true')
        .and.not.contain('certFile');
  });
});

describe('an address that can not be bound', () => {
  for (const [code, syscall, remedy] of [
    ['EADDRINUSE', 'listen', 'stop the process that uses the address, or choose another one'],
    ['EACCES', 'listen', 'choose a port of 1024 or more, or run kedged as root'],
    ['EADDRNOTAVAIL', 'listen', 'choose an address of this machine'],
    ['ENOTFOUND', 'getaddrinfo', 'choose an address of this machine'],
  ] as const)
    it(`is reported with its setting and the remedy for ${code}`, async () => {
      expect(await messageOfBind(systemError(code, syscall))).to.equal(
        `can't listen on host:80 (${key}): ${syscall} ${code}; ${remedy}`,
      );
    });

  it('is reported without a remedy for a code that has none', async () => {
    expect(await messageOfBind(systemError('EMFILE', 'listen'))).to.equal(
      `can't listen on host:80 (${key}): listen EMFILE`,
    );
  });

  it('is recognised in the errors of the system', async () => {
    const server = createServer();
    const listen = new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      // An address of the documentation range, which no machine has.
      server.listen(0, '192.0.2.1', resolve);
    });
    const error: unknown = await bound(key, '192.0.2.1:0', listen).catch((e: unknown) => e);
    expect(error).to.deep.include({ code: 'Unavailable', reason: 'AddressUnavailable' });
    expect(String(error)).to.match(/; choose an address of this machine$/);
  });

  it('is not the reason of other failures of a start, which are passed on', async () => {
    for (const error of [new Error('a grant is damaged'), systemError('EACCES', 'open')])
      expect(await bound(key, 'a', Promise.reject(error)).catch((e: unknown) => e)).to.equal(error);
  });
});
