import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

describe('kedge logs by time', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;

  before(async () => {
    daemon = await TestDaemon.start();
    await daemon.ok('POST', '/v1/namespaces/default/services', {
      ...{ name: 'app', runtime: 'process', command: ['sh', '-c', 'echo up; exec sleep 600'] },
      terminationGracePeriodSeconds: 0,
    });
    await eventually('its line', async () => (await daemon.cli('logs', 'app-0')).stdout === 'up\n');
  });
  after(() => daemon.dispose());

  it('--timestamps prints when each line was written', async () => {
    const { stdout } = await daemon.cli('logs', 'app-0', '--timestamps');
    const [, time = ''] = /^(\S+) up\n$/.exec(stdout) ?? [];
    expect(Date.parse(time), stdout).to.be.closeTo(Date.now(), 60_000);
  });

  it('--until takes a period, and is refused with --follow', async () => {
    expect((await daemon.cli('logs', 'app-0', '--until', '1s')).stdout).to.equal('up\n');
    const tail = await daemon.cli('logs', 'app-0', '--until', '1s', '--tail', '1');
    expect(tail.stdout).to.equal('up\n');
    const wrong = await daemon.cli('logs', 'app-0', '--until', 'soon');
    expect(wrong.stderr).to.contain('until').and.contain('must be a time such as 30s');
    const both = await daemon.cli('logs', 'app-0', '--until', '1m', '--follow');
    expect(both.stderr).to.contain('until').and.contain("can't be combined with");
    expect(both.code).not.to.equal(0);
  });
});
