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

  it('shows only the previous run, also after a kill -9 of the daemon', async () => {
    const script = [
      'n=$(($(cat /data/runs 2>/dev/null || echo 0) + 1)); echo $n >/data/runs',
      'echo "run $n begins"; echo "run $n goes on"',
      '[ $n = 1 ] && exit 3; exec sleep 600',
    ].join('; ');
    const { volume, service } = workload(daemon, 'web', script);
    await daemon.ok('POST', `${base}/volumes`, volume);
    await daemon.ok('POST', `${base}/services`, service);
    const steady = workload(daemon, 'steady', 'echo up; exec sleep 600').service;
    await daemon.ok('POST', `${base}/services`, { ...steady, volumes: [] });
    await run('wait service/web service/steady --for status=Running');
    await eventually('the second run', async () =>
      (await daemon.cli('logs', 'web-0')).stdout.includes('run 2 goes on'),
    );
    const previous = 'run 1 begins\nrun 1 goes on\n';
    expect(await run('logs web-0 --previous')).to.equal(previous);
    expect(await run('logs instance/web-0 -p --tail 1')).to.equal('run 1 goes on\n');
    expect(await run('logs service/web --previous')).to.contain('[web-0] run 1 begins');
    expect(await run('logs steady-0 --previous', 4)).to.contain('has no previous run');
    await daemon.crash();
    await daemon.answering();
    expect(await run('logs web-0 --previous')).to.equal(previous);
    expect(await run('logs web-0 --previous --follow', 6)).to.contain('follow');
  });
});
