import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';

const main = fileURLToPath(new URL('../bench/main.js', import.meta.url));

describe('benchmarks', () => {
  it('run: each prints its line and is in the table', function () {
    this.timeout(1_200_000);
    const { stdout, status, stderr } = spawnSync(process.execPath, [main, '--quick'], {
      encoding: 'utf8',
    });
    expect(stderr).to.equal('');
    expect(status).to.equal(0);
    const lines = stdout.split('\n').filter((line) => line.startsWith('{'));
    expect(lines.length).to.be.greaterThan(15);
    // Elsewhere the benchmark prints what is missing.
    if (process.env['CI']) expect(stdout).to.contain('against etcd"');
    for (const line of lines) {
      const { name, ratio } = JSON.parse(line) as { name: string; ratio: number };
      expect(ratio, name).to.be.a('number');
      expect(stdout.slice(stdout.indexOf('BENCHMARK'))).to.contain(name);
    }
  });
});
