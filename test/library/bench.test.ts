import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { benchmarks } from '../bench/benchmarks.js';
import { seed } from '../fixtures/seed.js';

const main = fileURLToPath(new URL('../bench/main.js', import.meta.url));
const all = Object.keys(benchmarks);
/** A third of the benchmarks, which the seed selects; `npm run bench -- --quick` runs all. */
const chosen = all.filter((_, at) => at % 3 === seed % 3);

describe(`benchmarks, ${chosen.length} of ${all.length}, seed ${seed}`, () => {
  it('run: each prints its line and is in the table', function () {
    this.timeout(1_200_000);
    console.log(`      ${chosen.join(', ')}`);
    const { stdout, status, stderr } = spawnSync(process.execPath, [main, '--quick', ...chosen], {
      encoding: 'utf8',
    });
    expect(stderr).to.equal('');
    expect(status).to.equal(0);
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    expect(lines.length).to.be.at.least(chosen.length);
    // Elsewhere the benchmark prints what is missing.
    if (process.env['CI'] && chosen.includes('etcd')) expect(stdout).to.contain('against etcd"');
    for (const line of lines) {
      const { name, ratio } = JSON.parse(line) as { name: string; ratio: number };
      expect(ratio, name).to.be.a('number');
      expect(stdout.slice(stdout.indexOf('BENCHMARK'))).to.contain(name);
    }
  });
});
