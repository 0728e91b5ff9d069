import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { daemonOfEach, everybody } from './box.js';
import { half } from '../fixtures/seed.js';

for (const who of half('nested volumes', everybody))
  describe(`volumes of ${who} in one directory of the machine`, function () {
    this.timeout(60_000);
    const of = daemonOfEach(who);

    it('are all seen, also if the directory of one of them is missing on the machine', async () => {
      const { base } = of.daemon;
      for (const name of ['place', 'place/a', 'place/own']) await mkdir(join(base, name));
      await writeFile(join(base, 'volume/first'), 'first\n');
      await writeFile(join(base, 'shared/own/second'), 'second\n');
      await writeFile(join(base, 'place/own/third'), 'third\n');
      const mounts = [
        { source: join(base, 'volume'), target: join(base, 'place/a'), readOnly: false },
        { source: join(base, 'shared/own'), target: join(base, 'place/b'), readOnly: false },
      ];
      const script = 'cat "$1"/a/first "$1"/b/second "$1"/own/third; echo seen; exec sleep 600';
      await of.daemon.run(['/bin/sh', '-c', script, 'sh', join(base, 'place')], { mounts });
      await eventually('the output', async () => (await of.daemon.log()).includes('seen'));
      expect((await of.daemon.log()).trim().split('\n')).to.include.members([
        ...['first', 'second', 'third'],
      ]);
    });
  });
