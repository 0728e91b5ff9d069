import { chown } from 'node:fs/promises';
import { dirname } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { TestDaemon } from '../daemon.js';

const base = '/v1/namespaces/default';
/** A user who may not create control groups. */
const uid = 12_345;

describe('limits that this node can not enforce', function () {
  this.timeout(180_000);
  let daemon: TestDaemon;
  before(async () => {
    const isRoot = process.getuid?.() === 0;
    const user = ['setpriv', '--reuid', `${uid}`, '--regid', `${uid}`, '--clear-groups', '--'];
    daemon = await TestDaemon.start({
      prefix: isRoot ? user : [],
      prepare: async (data) => {
        if (isRoot) await chown(dirname(data), uid, uid);
      },
    });
  });
  after(() => daemon.dispose());

  const cast = (name: string, resources?: object) =>
    daemon.ok('POST', `${base}/services`, {
      ...{ name, runtime: 'process', command: ['/bin/sleep', '600'] },
      ...(resources && { resources }),
      terminationGracePeriodSeconds: 1,
    });
  const becomes = (name: string, status: string) =>
    eventually(
      `${name} to be ${status}`,
      async () => {
        const { body } = await daemon.rest('GET', `${base}/instances/${name}`);
        return body.status === status ? body : undefined;
      },
      60_000,
    );
  const condition = ({ conditions }: Record<string, unknown>, type: string) =>
    (conditions as { type: string; status: string; reason: string; message: string }[]).find(
      (each) => each.type === type,
    );
  const memory = { memory: { limit: '64Mi' } };

  it('are reported by the condition LimitsEnforced of an instance that runs without them', async () => {
    await cast('limited', memory);
    const enforced = condition(await becomes('limited-0', 'Running'), 'LimitsEnforced');
    expect(enforced).to.include({ status: 'False', reason: 'LimitsNotEnforced' });
    expect(enforced?.message).to.match(
      /^limits of memory \(.+\) can't be enforced by this kedged; /,
    );
    const shown = await daemon.cli('describe', 'instance/limited-0');
    expect(shown.stdout, shown.stderr).to.contain(enforced?.message);
  });

  it('keep an instance from starting if they are strict', async () => {
    await cast('strict', { ...memory, strict: true });
    const failed = await becomes('strict-0', 'Failed');
    const ready = condition(failed, 'Ready');
    expect(ready).to.include({ status: 'False', reason: 'StartFailed' });
    expect(ready?.message).to.match(/^can't be started: limits of memory .* can't be enforced/);
  });

  it('are not reported for an instance without limits', async () => {
    await cast('free');
    expect(condition(await becomes('free-0', 'Running'), 'LimitsEnforced')).to.equal(undefined);
  });
});
