import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon, workload } from '../daemon.js';
import { runner } from './run.js';

const base = '/v1/namespaces/default';

describe('kedge logs --previous', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  const run = runner(() => daemon);
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  it('shows the run before the present one alone, also after a kill -9 of the daemon', async () => {
    const script = 'echo "run $$ begins"; echo "run $$ goes on"; exec sleep 600';
    const { service } = workload(daemon, 'web', script);
    await daemon.ok('POST', `${base}/services`, { ...service, volumes: [] });
    const output = async (): Promise<string[]> =>
      (await daemon.cli('logs', 'web-0')).stdout.split('\n').filter((line) => line !== '');
    const first = await eventually('the first run', async () => {
      const lines = await output();
      return lines.length === 2 ? lines : undefined;
    });
    const none = await run('logs web-0 --previous', 4);
    expect(none).to.contain('has no run before the present one');
    await run('restart instance/web-0');
    await eventually('the second run', async () => (await output()).length === 4);
    const previous = `${first.join('\n')}\n`;
    expect(await run('logs web-0 --previous')).to.equal(previous);
    expect(await run('logs instance/web-0 -p --tail 1')).to.equal(`${first[1] ?? ''}\n`);
    expect(await run('logs service/web --previous')).to.contain(`[web-0] ${first[0] ?? ''}`);
    await daemon.crash();
    await daemon.answering();
    expect(await run('logs web-0 --previous')).to.equal(previous);
    expect(await run('logs web-0 --previous --follow', 6)).to.contain('follow');
  });
});
