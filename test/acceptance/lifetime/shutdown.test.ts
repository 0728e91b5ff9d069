import { expect } from 'chai';
import { kedgeClient } from '@kedge/api/client';
import { TestDaemon } from '../daemon.js';

describe('shutdown', () => {
  it('ends open streams cleanly on both transports, and does not wait for their readers', async () => {
    const daemon = await TestDaemon.start();
    try {
      using client = kedgeClient({ server: daemon.grpcAddress, token: daemon.token });
      const { signal } = new AbortController();
      const path = '/v1/namespaces/default/volumes?watch=true';
      const headers = { authorization: `Bearer ${daemon.token}` };
      const rest = await fetch(`http://${daemon.restAddress}${path}`, { headers });
      const unread = await fetch(`http://${daemon.restAddress}${path}`, { headers });
      expect([rest.status, unread.status]).to.deep.equal([200, 200]);
      let first: () => void = () => undefined;
      const begun = new Promise<void>((resolve) => (first = resolve));
      const grpc = (async () => {
        const request = { namespace: 'default' };
        for await (const _ of client.methods.volume.watch(request, signal)) first();
      })();
      await begun;
      const code = daemon.end('SIGTERM');
      const text = await rest.text();
      expect(text).to.contain('BOOKMARK').and.not.contain('event: ERROR');
      await grpc;
      expect(await code).to.equal(0);
    } finally {
      await daemon.dispose();
    }
  });
});
