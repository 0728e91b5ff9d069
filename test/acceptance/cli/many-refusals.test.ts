import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { StatusError } from 'kedge';
import { ApiClient } from 'kedge/client';
import { apiSchemas } from '@kedge/api/client';
import { TestDaemon } from '../daemon.js';

const count = 150;
const more = /and (\d+) more that are not listed/;
const wrong = Array.from({ length: count }, (_, n) => ({
  name: `wrong-${n}`,
  size: 'much',
  accessMode: 'ReadWriteOnce',
}));

describe('a cast of 150 wrong volumes', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());
  const objects = wrong.map((volume) => ({
    kind: 'Volume',
    object: { ...volume, namespace: 'default' },
  }));

  it('is refused on the command line with the first violations and the number of the others', async () => {
    const file = join(daemon.home, 'wrong.yaml');
    const documents = wrong.map(
      ({ name, size, accessMode }) =>
        `kind: Volume\nname: ${name}\nsize: ${size}\naccessMode: ${accessMode}\n`,
    );
    await writeFile(file, documents.join('---\n'));
    const { code, stderr } = await daemon.cli('cast', file);
    expect(code, stderr).to.equal(6);
    const shownCount = new Set([...stderr.matchAll(/"?much"?/g)]).size;
    expect(shownCount).to.be.at.least(1);
    const left = Number(more.exec(stderr)?.[1]);
    expect(left + shownCount, stderr).to.equal(count);
    const listed = await daemon.ok('GET', '/v1/namespaces/default/volumes');
    expect(listed).to.deep.include({ items: [] });
  });

  it('over gRPC does not affect its connection: a watch and calls continue', async () => {
    using client = new ApiClient({
      server: daemon.grpcAddress,
      token: daemon.token,
      schemas: apiSchemas(),
      packageName: 'api',
    });
    const ending = new AbortController();
    const seen: string[] = [];
    const watching = (async () => {
      for await (const event of client.stream(
        'ConfigmapService.Watch',
        { namespace: 'default' },
        ending.signal,
      )) {
        seen.push(JSON.stringify(event));
        if (seen.at(-1)?.includes('"after"')) return;
      }
    })();
    for (let round = 0; round < 3; round += 1) {
      const error = await client.call('CastService.Cast', { objects }).then(
        () => expect.fail('the cast was accepted'),
        (thrown: unknown) => StatusError.from(thrown),
      );
      expect(error.code).to.equal('InvalidArgument');
      const left = Number(more.exec(error.violations.at(-1)?.description ?? '')?.[1]);
      expect(left + error.violations.length - 1).to.equal(count);
    }
    await daemon.ok('POST', '/v1/namespaces/default/configmaps', { name: 'after', data: {} });
    await watching;
    ending.abort();
  });
});
