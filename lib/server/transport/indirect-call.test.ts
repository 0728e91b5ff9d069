import { expect } from 'chai';
import { indirection } from './indirect-call.js';
import { peerOf } from './peer.js';

const call = { host: '127.0.0.1:7861', origin: undefined, names: ['host', 'content-type'] };
const own = '192.0.2.7';

describe('a call from the machine itself', () => {
  it('has a loopback or listening address as its host', () => {
    for (const host of [
      'localhost',
      'LOCALHOST:7861',
      '127.0.0.1',
      '127.9.9.9:1',
      '[::1]:7861',
      own,
    ])
      expect(indirection({ ...call, host }, own), host).to.equal(undefined);
    const names = [
      'evil.example:7861',
      '127.evil.example',
      '127.0.0.1.evil.example',
      '',
      undefined,
    ];
    for (const host of [...names, 'localhost.evil.example', '192.0.2.8', '0.0.0.0'])
      expect(indirection({ ...call, host }, own), String(host)).to.match(
        /^the call was sent to host/,
      );
  });

  it('does not come from a page of another origin', () => {
    expect(indirection({ ...call, origin: 'http://127.0.0.1:7861' }, own)).to.equal(undefined);
    for (const origin of ['http://evil.example', 'null', 'https://127.0.0.1.evil.example', ''])
      expect(indirection({ ...call, origin }, own), origin).to.match(/^a page of /);
    // Another port of the machine is another origin: any user may serve a page there.
    for (const origin of ['http://127.0.0.1:3000', 'http://127.0.0.1', 'http://localhost:7861'])
      expect(indirection({ ...call, origin }, own), origin).to.match(/^a page of /);
    // A DNS name that was rebound to this machine is both host and origin.
    const rebound = { ...call, host: 'evil.example', origin: 'http://evil.example' };
    expect(indirection(rebound, own)).to.contain('"evil.example"');
  });

  it('is not forwarded by a proxy', () => {
    for (const name of ['x-forwarded-for', 'x-forwarded-proto', 'forwarded', 'via', 'x-real-ip'])
      expect(indirection({ ...call, names: [...call.names, name] }, own)).to.contain(name);
  });

  it('has a loopback address, not a name that looks like one', () => {
    for (const address of ['127.0.0.1', '127.0.0.1:4711', '[::1]:4711', '::ffff:127.0.0.1'])
      expect(peerOf(address).loopback, address).to.equal(true);
    for (const address of ['127.evil.example', '127.0.0.1.evil.example', '128.0.0.1', '::2', ''])
      expect(peerOf(address).loopback, address).to.equal(false);
  });
});
