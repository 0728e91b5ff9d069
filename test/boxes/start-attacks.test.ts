import { execFileSync, spawn } from 'node:child_process';
import { chmod, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, changedSupervisor, everybody, type SupervisorChange } from './box.js';
import { half } from '../fixtures/seed.js';

/** An attack on the programs that start a workload before they are sandboxed. */
interface StartAttack {
  readonly name: string;
  /** Disables the safeguard. */
  readonly off: readonly SupervisorChange[];
  /** Makes the attack, and returns whether it succeeded. */
  readonly attempt: (daemon: BoxDaemon) => Promise<boolean>;
}

/** Sets the variables first and outside, as if they were the daemon's. */
const variablesFirst: SupervisorChange = {
  file: 'supervise.sh',
  from: 'set -u\n',
  to: 'set -u\nn=$KEDGE_ENV_COUNT\nwhile [ "$n" -gt 0 ]; do eval "export \\"\\$KEDGE_ENV_$n\\""; n=$((n - 1)); done\n',
};
/** Omits the checks of each step of a subPath and of the final mount. */
const stepsUnseen: readonly SupervisorChange[] = [
  {
    file: 'enter-volumes.sh',
    from: '    [ "$(pwd -P)" = "${before%/}/$part" ] || return 1\n',
    to: '',
  },
  { file: 'enter-volumes.sh', from: '"$place"/*) fail', to: '"$place"/*) :' },
];

/** Omits the check of the path of a mounted directory. */
const pathUnseen: SupervisorChange = {
  file: 'enter-volumes.sh',
  from: '  [ "$(pwd -P)" = "/.host${1%/}" ] || return 1\n',
  to: '',
};

/**
 * Returns the number of messages of the loader about a library. Each program that is started with it adds one, or two
 * for LD_AUDIT.
 */
async function loadedBy(daemon: BoxDaemon, variable: string): Promise<number> {
  const library = `/missing/${variable}.so`;
  await daemon.run(['/bin/sleep', '600'], { env: { [variable]: library } });
  await eventually('the command', async () => (await daemon.log()).includes(library));
  return (await daemon.log()).split('\n').filter((line) => line.includes(library)).length;
}

/** Mounts a subPath and lists it. True if the key of the daemon is in it. */
async function listed(daemon: BoxDaemon, subPath: string): Promise<boolean> {
  await writeFile(join(daemon.base, 'data/kek'), 'key');
  const mounts = [
    { source: join(daemon.base, 'volume'), target: '/seen', readOnly: false, subPath },
  ];
  await daemon.run(['/bin/ls', '/seen'], { mounts });
  await daemon.ended();
  return (await daemon.log()).includes('kek');
}

/** Mounts a directory for volumes and lists it. True if the volume of another workload, `shared/other`, is in it. */
async function showsOther(daemon: BoxDaemon, source: string): Promise<boolean> {
  await writeFile(join(daemon.base, 'shared/other/secret'), '');
  const mounts = [{ source: join(daemon.base, source), target: '/seen', readOnly: false }];
  await daemon.run(['/bin/ls', '/seen'], { mounts });
  await daemon.ended();
  return (await daemon.log()).split('\n').includes('secret');
}

const link = (to: string, at: string): void => void execFileSync('ln', ['-s', to, at]);

const startAttacks: readonly StartAttack[] = [
  {
    name: 'a program of its PATH',
    off: [variablesFirst],
    attempt: async (daemon) => {
      const bin = join(daemon.base, 'volume/bin');
      const called = join(daemon.base, 'volume/called');
      await mkdir(bin);
      await mkdir(called);
      await chmod(called, 0o777);
      // supervise.sh claims the run with mkdir, before the sandbox is created.
      await writeFile(join(bin, 'mkdir'), `#!/bin/sh\n: >${called}/mkdir\nexec /bin/mkdir "$@"\n`);
      await chmod(join(bin, 'mkdir'), 0o755);
      await daemon.run(['/bin/sleep', '600'], { env: { PATH: `${bin}:/usr/bin:/bin:/sbin` } });
      return (await readdir(called)).length > 0;
    },
  },
  {
    name: 'a library of LD_PRELOAD',
    off: [variablesFirst],
    attempt: async (daemon) => (await loadedBy(daemon, 'LD_PRELOAD')) > 1,
  },
  {
    name: 'a library of LD_AUDIT',
    off: [variablesFirst],
    // The loader reports twice.
    attempt: async (daemon) => (await loadedBy(daemon, 'LD_AUDIT')) > 2,
  },
  {
    name: 'a link in the middle of a subPath',
    off: stepsUnseen,
    attempt: async (daemon) => {
      link(daemon.base, join(daemon.base, 'volume/a'));
      return listed(daemon, 'a/data');
    },
  },
  {
    name: 'a link at the end of a subPath',
    off: stepsUnseen,
    attempt: async (daemon) => {
      link(join(daemon.base, 'data'), join(daemon.base, 'volume/a'));
      return listed(daemon, 'a');
    },
  },
  {
    name: 'a link that leads up from a subPath',
    off: stepsUnseen,
    attempt: async (daemon) => {
      link('../..', join(daemon.base, 'volume/a'));
      return listed(daemon, `a/${basename(daemon.base)}/data`);
    },
  },
  {
    name: 'a link that is swapped in again and again while a subPath is mounted',
    off: stepsUnseen,
    attempt: async (daemon) => {
      const at = join(daemon.base, 'volume');
      await mkdir(join(at, 'a'));
      link(join(daemon.base, 'data'), join(at, 'b'));
      // renameat2(2) with RENAME_EXCHANGE: one of the two always exists.
      const swap =
        'my ($a, $b) = qw(a b); while (1) { syscall(316, -100, $a, -100, $b, 2) == 0 or exit 1 }';
      const swapper = spawn('perl', ['-e', swap], { cwd: at, stdio: 'ignore' });
      try {
        for (let n = 0; n < 12; n++) if (await listed(daemon, 'a')) return true;
        return false;
      } finally {
        swapper.kill('SIGKILL');
      }
    },
  },
  {
    name: 'a link in place of the directory of a volume',
    off: [pathUnseen],
    attempt: async (daemon) => {
      await rm(join(daemon.base, 'shared/own'), { recursive: true });
      link('other', join(daemon.base, 'shared/own'));
      return showsOther(daemon, 'shared/own');
    },
  },
  {
    name: 'a link above the directory of a volume',
    off: [pathUnseen],
    attempt: async (daemon) => {
      link('..', join(daemon.base, 'shared/own/up'));
      return showsOther(daemon, 'shared/own/up/other');
    },
  },
  {
    name: 'a descriptor of process 1, which reports the exit code',
    off: [{ file: 'enter.sh', from: 'setsid "$@" 6>&- 7>&- &', to: 'setsid "$@" &' }],
    attempt: async (daemon) => {
      await daemon.run(['/bin/sh', '-c', 'echo 42 >&7; exit 9']);
      const ended = await daemon.ended();
      return ended.state === 'exited' && ended.exitCode === 42;
    },
  },
  {
    name: 'a descriptor of the supervisor, whose lock shows that it runs',
    off: [{ file: 'supervise.sh', from: ' 9>&- &', to: ' &' }],
    attempt: async (daemon) => {
      await daemon.run(['/bin/sh', '-c', '[ -e /proc/self/fd/9 ] && echo held; exec sleep 600']);
      const { output = '' } = await daemon.exec(['/bin/true']);
      expect(output).to.equal('');
      return (await daemon.log()).includes('held');
    },
  },
];

for (const who of half('attacks on starts', everybody))
  describe(`attacks on the start of a process workload of ${who}`, function () {
    this.timeout(180_000);
    before(function () {
      requireDevices(this);
    });
    const trying = async (
      { attempt }: StartAttack,
      changes: readonly SupervisorChange[],
    ): Promise<boolean> => {
      const folder = await changedSupervisor(changes);
      const daemon = await BoxDaemon.start(who, { supervisor: join(folder, 'supervise.sh') });
      try {
        return await attempt(daemon);
      } finally {
        await daemon.close();
        await rm(folder, { recursive: true });
      }
    };
    for (const attack of startAttacks)
      it(`${attack.name} fails, and succeeds where its measure is disabled`, async () => {
        // A race may be lost a few times.
        let succeeded = false;
        for (let n = 0; n < 6 && !succeeded; n++) succeeded = await trying(attack, attack.off);
        expect(succeeded, 'disabled').to.equal(true);
        expect(await trying(attack, [])).to.equal(false);
      });
  });
