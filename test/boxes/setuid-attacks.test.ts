import { spawnSync } from 'node:child_process';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, changedSupervisor, everybody, type SupervisorChange, uidOf } from './box.js';
import { type Accomplice, asLocal, startAccomplice } from './local-user.js';
import { passTmp, type SetuidAttack, setuidAttacks } from './setuid-attacks.js';
import { half } from '../fixtures/seed.js';

const name = `kedge-suid-${process.pid}`;

/** Directories of the machine that a workload could reach. */
const places = ['/tmp', '/var/tmp', '/dev', '/run', '/srv', '/var/lock', '/var/spool', '/home'];

/** The programs that the user of the machine finds and that run with the rights of `uid`. */
function runAs(uid: number, base: string, pid: number): readonly string[] {
  const box = [`/proc/${pid}/root/tmp`, `/proc/${pid}/root/vol`, `/proc/${pid}/cwd/tmp`];
  const find = (...words: readonly string[]): readonly string[] =>
    spawnSync('setpriv', [...asLocal, 'find', ...words, '-name', name], {
      encoding: 'utf8',
    }).stdout.split('\n');
  const found = [...find(base, ...box), ...find(...places, '-maxdepth', '2')];
  return found.filter((path) => {
    if (path === '') return false;
    const printed = spawnSync('setpriv', [...asLocal, path, '-u'], { encoding: 'utf8' });
    return printed.stdout.trim() === String(uid);
  });
}

for (const who of half('setuid programs', everybody))
  describe(`programs that a process workload of ${who} leaves for users of the machine`, function () {
    this.timeout(180_000);
    let accomplice: Accomplice | undefined;
    before(function () {
      requireDevices(this);
    });
    beforeEach(async () => {
      accomplice = await startAccomplice(passTmp, { NAME: name });
    });
    afterEach(() => accomplice?.end());

    const trying = async (
      { script, capabilities }: SetuidAttack,
      from: 'command' | 'exec',
      changes: readonly SupervisorChange[],
      open: SetuidAttack['open'],
    ): Promise<readonly string[]> => {
      const folder = await changedSupervisor(changes);
      const daemon = await BoxDaemon.start(who, { supervisor: join(folder, 'supervise.sh') });
      try {
        const mounts = [{ source: join(daemon.base, 'volume'), target: '/vol', readOnly: false }];
        const attack = ['/bin/sh', '-c', `(${script}); echo tried`];
        const wait = ['/bin/sh', '-c', 'exec sleep 600'];
        const command = from === 'exec' ? wait : ['/bin/sh', '-c', `${attack[2]}; exec sleep 600`];
        const state = await daemon.run(command, {
          mounts,
          env: { NAME: name },
          ...(capabilities && { capabilities }),
        });
        if (state.state !== 'running') throw new Error(`the workload is ${state.state}`);
        if (from === 'exec') expect((await daemon.exec(attack)).output).to.contain('tried');
        else await eventually('the attack', async () => (await daemon.log()).includes('tried'));
        await open?.(daemon);
        return runAs(uidOf(who), daemon.base, state.pid);
      } finally {
        await daemon.close();
        await rm(folder, { recursive: true });
        for (const place of ['/tmp', '/var/tmp']) await rm(join(place, name), { force: true });
      }
    };

    const possible = setuidAttacks.filter(
      ({ rootOnly }) => !rootOnly || (who === 'root' && process.arch === 'x64'),
    );
    for (const attack of possible)
      for (const from of attack.rootOnly ? (['command'] as const) : (['command', 'exec'] as const))
        it(`${from}: a setuid program ${attack.name} runs for none of them, and does where the measure is disabled`, async () => {
          const reached = await trying(attack, from, attack.off, attack.open);
          expect(reached, 'disabled').to.not.deep.equal([]);
          expect(await trying(attack, from, [], undefined)).to.deep.equal([]);
        });
  });
