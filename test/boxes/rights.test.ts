import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { WorkloadSpec } from '@kedge/controllers';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, boxId, type Who } from './box.js';

/** Fields of a process in /proc/self/status. */
type Status = Readonly<Record<string, string>>;
const print = ['/bin/sh', '-c', 'cat /proc/self/status; echo ready; exec sleep 600'];
/** Sets of capabilities in the kernel's format. */
const none = '0000000000000000';
const bindService = '0000000000000400';
/** Those that a service may list without a separate right. */
const usual = '00000000000404fb';

function statusIn(text: string): Status {
  const lines = [...text.matchAll(/^(\w+):[ \t]*(.*?)[ \t]*$/gm)];
  return Object.fromEntries(lines.map(([, key = '', value = '']) => [key, value]));
}

/** Four equal ids in the kernel's format. */
const ids = (id: number): string => Array.from({ length: 4 }, () => id).join('\t');

describe('user and capabilities of a process workload', function () {
  this.timeout(180_000);
  let daemon: BoxDaemon;
  before(function () {
    requireDevices(this);
  });
  const start = async (who: Who): Promise<void> => {
    daemon = await BoxDaemon.start(who);
  };
  afterEach(() => daemon.close());

  /**
   * Returns the status of the command. Requires that commands of exec, with and without a terminal, have the same; of
   * an ordinary user, the bounding set may differ.
   */
  async function statusOf(more: Partial<WorkloadSpec>, who: Who = 'root'): Promise<Status> {
    await daemon.run(print, more);
    await eventually('its status', async () => (await daemon.log()).includes('ready'));
    const pick = (text: string): Status => {
      const { Uid, Gid, Groups, NoNewPrivs, CapInh, CapPrm, CapEff, CapBnd, CapAmb } = statusIn(
        text.replaceAll('\r', ''),
      );
      return { Uid, Gid, Groups, NoNewPrivs, CapInh, CapPrm, CapEff, CapBnd, CapAmb } as Status;
    };
    const status = pick(await daemon.log());
    const { CapBnd: bounding, ...own } = status;
    for (const terminal of [false, true]) {
      const { output = '' } = await daemon.exec(['cat', '/proc/self/status'], terminal);
      const { CapBnd, ...rest } = pick(output);
      expect(rest, `exec, terminal: ${terminal}`).to.deep.equal(own);
      // The bounding set has no effect without capabilities and with no_new_privs.
      if (who === 'root') expect(CapBnd).to.equal(bounding);
    }
    expect(status.NoNewPrivs).to.equal('1');
    return status;
  }

  const sets = (CapPrm: string, CapAmb: string, CapBnd: string): Status => ({
    CapInh: CapAmb,
    CapPrm,
    CapEff: CapPrm,
    CapBnd,
    CapAmb,
  });

  for (const [what, more] of [
    ['are by default root without capabilities', {}],
    ['an empty list is the default', { capabilities: [] }],
    ['none leaves root no capability', { capabilities: ['none'] }],
  ] as const)
    it(what, async () => {
      await start('root');
      expect(await statusOf(more)).to.include({
        ...{ Uid: ids(0), Groups: '', ...sets(none, none, none) },
      });
    });

  it('the capabilities that need no right are those that root had in earlier releases', async () => {
    await start('root');
    const own = ['chown', 'dac_override', 'fowner', 'fsetid', 'kill', 'setgid', 'setuid'];
    const status = await statusOf({ capabilities: [...own, 'net_bind_service', 'sys_chroot'] });
    expect(status).to.include({ Uid: ids(0), ...sets(usual, none, usual) });
  });

  it('root without capabilities receives the signal of a stop', async () => {
    await start('root');
    await daemon.run([
      '/bin/sh',
      '-c',
      "trap 'echo ends; exit 3' TERM; echo ready; while :; do sleep 1; done",
    ]);
    await eventually('its output', async () => (await daemon.log()).includes('ready'));
    await daemon.succeed({ type: 'requestStop', id: boxId, graceMs: 60_000 });
    expect(await daemon.ended()).to.include({ exitCode: 3, requested: true });
    expect(await daemon.log()).to.contain('ends');
  });

  it('root has only the capabilities of its list', async () => {
    await start('root');
    const status = await statusOf({ capabilities: ['net_bind_service'] });
    expect(status).to.include({ Uid: ids(0), ...sets(bindService, none, bindService) });
  });

  it('a uid and gid have no other groups and no capability', async () => {
    await start('root');
    const status = await statusOf({ user: '12345:23456' });
    expect(status).to.include({ Uid: ids(12_345), Gid: ids(23_456), Groups: '' });
    expect(status).to.include(sets(none, none, none));
  });

  it('a user that is not root has the capabilities of its list', async () => {
    await start('root');
    const status = await statusOf({ user: '12345:23456', capabilities: ['net_bind_service'] });
    expect(status).to.include({ Uid: ids(12_345), ...sets(bindService, bindService, bindService) });
  });

  it('a name has the groups that the machine gives it', async () => {
    await start('root');
    const status = await statusOf({ user: 'nobody' });
    expect(status).to.include({ Uid: ids(65_534), Gid: ids(65_534), Groups: '65534' });
  });

  it('a uid alone has the groups of its user', async () => {
    await start('root');
    expect(await statusOf({ user: '0' })).to.include({ Uid: ids(0), Groups: '0', CapEff: none });
  });

  it('a uid without a user is in the group of its number', async () => {
    await start('root');
    expect(await statusOf({ user: '54321' })).to.include({ Uid: ids(54_321), Gid: ids(54_321) });
  });

  it('a name that the machine does not know is refused before anything is started', async () => {
    await start('root');
    const spec = { id: boxId, command: print, env: {}, workingDir: '/', mounts: [] };
    const { error } = await daemon.ask({ type: 'start', spec: { ...spec, user: 'kedge-nobody' } });
    expect(error).to.match(/user kedge-nobody does not exist on the node of the instance.*useradd/);
    const { state } = await daemon.succeed({ type: 'observe', id: boxId });
    expect(state).to.deep.equal({ state: 'absent' });
  });

  it('its terminal is the user’s', async () => {
    await start('root');
    await daemon.run(print, { user: '12345:23456' });
    const { output, code } = await daemon.exec(['/bin/sh', '-c', 'echo yes >"$(tty)"'], true);
    expect([output?.trim(), code]).to.deep.equal(['yes', 0]);
  });

  it('an ordinary user can give neither, and the error names the remedy', async () => {
    await start('an ordinary user');
    const spec = { id: boxId, command: print, env: {}, workingDir: '/', mounts: [] };
    const refused = async (more: Partial<WorkloadSpec>): Promise<string | undefined> =>
      (await daemon.ask({ type: 'start', spec: { ...spec, ...more } })).error;
    expect(await refused({ user: 'root' })).to.match(
      /user root can't be used: .*unprivileged user \(65534:65534\).*run kedged as root/,
    );
    expect(await refused({ capabilities: ['net_bind_service'] })).to.match(
      /capabilities net_bind_service can't be granted: .*run kedged as root/,
    );
    const status = await statusOf({ user: 'nobody', capabilities: ['none'] }, 'an ordinary user');
    expect(status).to.include({ Uid: ids(65_534), ...sets(none, none, none) });
  });

  it('a variable that can not be set is reported in the log', async () => {
    await start('root');
    const env = { 'a-b': '1', 'tls.crt': '2', fine: '3' };
    await daemon.run(['/bin/sh', '-c', 'echo "fine=$fine"; exec sleep 600'], { env });
    await eventually('its output', async () => (await daemon.log()).includes('fine=3'));
    expect((await daemon.log()).split('\n').slice(0, 2).sort()).to.deep.equal([
      "kedge: variable a-b is not set: a shell can't set a variable of that name",
      "kedge: variable tls.crt is not set: a shell can't set a variable of that name",
    ]);
    const { output } = await daemon.exec(['/bin/true']);
    expect(output).to.equal('');
  });
});
