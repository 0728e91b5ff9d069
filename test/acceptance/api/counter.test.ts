import { expect } from 'chai';
import { hasCode } from 'kedge';
import { kedgeClient } from '@kedge/api/client';
import { TestDaemon } from '../daemon.js';

describe('optimistic concurrency', function () {
  this.timeout(600_000);

  it('100 clients that increment a counter in one object lose no update, over both transports', async () => {
    const daemon = await TestDaemon.start();
    const path = '/v1/namespaces/default/configmaps';
    try {
      await daemon.ok('POST', path, { name: 'counter', data: { n: '0' } });
      const times = 2;
      const next = (data: unknown): Record<string, string> => ({
        n: String(Number((data as { n: string }).n) + 1),
      });
      const overRest = async (): Promise<void> => {
        for (let done = 0; done < times; ) {
          const object = await daemon.ok('GET', `${path}/counter`);
          const { resourceVersion } = object.metadata as { resourceVersion: string };
          const body = { name: 'counter', data: next(object.data), metadata: { resourceVersion } };
          const answer = await daemon.rest('PUT', `${path}/counter`, body);
          if (answer.status === 200) done += 1;
          else expect([answer.status, answer.body.reason]).to.deep.equal([409, 'Conflict']);
        }
      };
      const overGrpc = async (): Promise<void> => {
        using client = kedgeClient({ server: daemon.grpcAddress, token: daemon.token });
        for (let done = 0; done < times; ) {
          const object = await client.configmaps.get({ namespace: 'default', name: 'counter' });
          try {
            await client.configmaps.update({ ...object!, data: next(object!.data) });
            done += 1;
          } catch (error) {
            expect(hasCode(error, 'Aborted')).to.equal(true);
          }
        }
      };
      const clients = Array.from({ length: 100 }, (_, n) =>
        n % 2 === 0 ? overRest() : overGrpc(),
      );
      await Promise.all(clients);
      const { data } = await daemon.ok('GET', `${path}/counter`);
      expect(data).to.deep.equal({ n: String(100 * times) });
    } finally {
      await daemon.dispose();
    }
  });
});
