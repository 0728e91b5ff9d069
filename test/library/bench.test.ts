import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { benchmarks } from '../bench/benchmarks.js';
import { seed } from '../fixtures/seed.js';

const main = fileURLToPath(new URL('../bench/main.js', import.meta.url));
const all = Object.keys(benchmarks);
/** A quarter of the benchmarks, which the seed selects; `npm run bench -- --quick` runs all. */
const chosen = all.filter((_, at) => at % 4 === seed % 4);
/** Benchmarks that print only what is missing on a machine without etcd. */
const needEtcd = ['etcd', 'api-etcd'];

describe(`benchmarks, ${chosen.length} of ${all.length}, seed ${seed}`, function () {
  this.timeout(600_000);

  for (const benchmark of chosen)
    it(`${benchmark} runs: each figure is a line of its output and a row of the table`, () => {
      const run = spawnSync(process.execPath, [main, '--quick', benchmark], { encoding: 'utf8' });
      expect(run.stderr).to.equal('');
      expect(run.status).to.equal(0);
      const [printed = '', table = ''] = run.stdout.split('\nBENCHMARK');
      const lines = printed.split('\n').filter((line) => line.startsWith('{'));
      if (process.env['CI'] || !needEtcd.includes(benchmark)) expect(lines).to.not.deep.equal([]);
      for (const line of lines) {
        const { name, ratio } = JSON.parse(line) as { name: string; ratio: number };
        expect(ratio, name).to.be.a('number');
        expect(table).to.contain(name);
      }
    });
});
