import { expect } from 'chai';
import { peerOf } from './peer.js';

describe('peers', () => {
  it('recognizes loopback peers in every notation', () => {
    for (const address of ['127.0.0.1:80', '127.9.9.9', '[::1]:80', '::1', '::ffff:127.0.0.1'])
      expect(peerOf(address).loopback, address).to.equal(true);
    for (const address of ['10.0.0.1:80', '[2001:db8::1]:80', '1.127.0.1'])
      expect(peerOf(address).loopback, address).to.equal(false);
  });
});
