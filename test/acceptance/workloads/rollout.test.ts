import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const path = '/v1/namespaces/default/services';

describe('replacing the instances of a running service', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    daemon = await TestDaemon.start();
  });
  after(() => daemon.dispose());

  const instances = async (): Promise<Record<string, unknown>[]> =>
    (await daemon.list('/v1/namespaces/default/instances')).filter((i) => i.service === 'web');
  const commands = async (): Promise<string[]> =>
    (await instances()).map((i) => (i.template as { command: string[] }).command[2] ?? '');
  const cast = (script: string) => ({
    name: 'web',
    runtime: 'process',
    scale: 3,
    terminationGracePeriodSeconds: 1,
    command: ['/bin/sh', '-c', script],
  });
  const allRun = (script: string) =>
    eventually(`three times ${script}`, async () => {
      const all = await instances();
      const same = (await commands()).every((command) => command === script);
      return all.length === 3 && same && all.every((i) => i.status === 'Running');
    });

  it('a broken template stops only one replica, and the next cast repairs it', async () => {
    await daemon.ok('POST', path, cast('sleep 600'));
    await allRun('sleep 600');
    await daemon.ok('PUT', `${path}/web`, cast('sleep 0.1; exit 3'));
    // Two ends of the new instance: it was ready briefly in between.
    await eventually('the new one to end twice', async () =>
      (await instances()).some((i) => Number(i.restartCount) >= 2),
    );
    expect((await commands()).sort()).to.deep.equal([
      'sleep 0.1; exit 3',
      'sleep 600',
      'sleep 600',
    ]);
    await eventually('the service to report what it waits for', async () => {
      const service = await daemon.ok('GET', `${path}/web`);
      const conditions = JSON.stringify(service.conditions);
      return (
        service.status === 'Deploying' &&
        conditions.includes('older ones are replaced once web-2 is ready')
      );
    });
    await daemon.ok('PUT', `${path}/web`, cast('sleep 601'));
    await allRun('sleep 601');
  });
});
