import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, copyFile, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { expect } from 'chai';
import { eventually } from 'kedge/testing';
import type { WorkloadSpec } from '@kedge/controllers';
import { requireDevices } from '../drivers/devices.js';
import { BoxDaemon, uidOf, type Who } from './box.js';
import {
  contentAttacks,
  type DescriptorAttack,
  landlocked,
  modeAttacks,
  type Passage,
  passAny,
  socketAttacks,
  targets,
  thief,
} from './descriptor-attacks.js';
import { type Accomplice, asLocal, startAccomplice } from './local-user.js';

const name = `kedge-descriptor-${process.pid}`;
/** O_PATH and O_RDONLY, both with O_DIRECTORY. */
const opened = { O_PATH: 0o10_200_000, O_RDONLY: 0o200_000 } as const;

const attacks: readonly DescriptorAttack[] = [...contentAttacks, ...modeAttacks, ...socketAttacks];
const names = (of: readonly DescriptorAttack[]): readonly string[] =>
  of.map((attack) => attack.name).sort();

/** A way in which a user of the machine hands over a directory. */
interface Handover {
  /** `machine`: `/`; `data`: the hidden directory of the daemon that holds the target. */
  readonly from: 'machine' | 'data';
  readonly how: keyof typeof opened;
  readonly passage: Passage;
  readonly by: 'command' | 'exec';
}

interface Attempt {
  /** Who owns the target; default: root. */
  readonly owner?: Who;
  readonly more?: Partial<WorkloadSpec>;
  /** Words before the program of the attacks. */
  readonly before?: readonly string[];
}

const handovers: readonly Handover[] = [
  { from: 'machine', how: 'O_PATH', passage: 'an abstract socket', by: 'command' },
  { from: 'machine', how: 'O_RDONLY', passage: 'a socket in a volume', by: 'exec' },
  { from: 'data', how: 'O_PATH', passage: 'a socket in a volume', by: 'command' },
  { from: 'data', how: 'O_RDONLY', passage: 'an abstract socket', by: 'exec' },
];

describe('a descriptor of a directory of the machine that its user passes to a process workload', function () {
  this.timeout(180_000);
  let daemon: BoxDaemon;
  let victim: string;
  let service: Server;
  let accomplice: Accomplice | undefined;
  before(function () {
    requireDevices(this);
    // The numbers of system calls are those of x86-64.
    if (process.arch !== 'x64') this.skip();
  });
  afterEach(async () => {
    await accomplice?.end();
    service.close();
    await rm(victim, { recursive: true });
    await daemon.close();
  });

  /** Makes a directory of files and of a socket that only its owner may use. */
  async function prepare(who: Who, { from, owner }: Handover & Attempt): Promise<void> {
    daemon = await BoxDaemon.start(who);
    victim = await mkdtemp(
      from === 'data' ? join(daemon.base, 'data/victim-') : '/srv/kedge-victim-',
    );
    await chmod(victim, 0o755);
    await mkdir(join(victim, 'closed'), { mode: 0o700 });
    for (const target of targets)
      await writeFile(join(victim, target), 'secret of root', { mode: 0o600 });
    await copyFile('/bin/true', join(victim, 'program'));
    await chmod(join(victim, 'program'), 0o700);
    service = createServer().listen(join(victim, 'socket'));
    await once(service, 'listening');
    await chmod(join(victim, 'socket'), 0o600);
    const uid = uidOf(owner ?? 'root');
    for (const target of ['', 'closed', 'program', 'socket', ...targets])
      await chown(join(victim, target), uid, uid);
    await chmod(join(daemon.base, 'volume'), 0o777);
    const socket = join(daemon.base, 'volume/socket');
    accomplice = await startAccomplice(passAny, { NAME: name, SOCKET: socket });
  }

  /** Names of the attacks that succeed. */
  async function reached(who: Who, attempt: Handover & Attempt): Promise<readonly string[]> {
    const { from, how, passage, by, more = {}, before: first = [] } = attempt;
    await prepare(who, attempt);
    const mounts = [{ source: join(daemon.base, 'volume'), target: '/vol', readOnly: false }];
    const base = from === 'data' ? join(daemon.base, 'data') : '/';
    const env = { NAME: name, FROM: base, TARGET: victim.slice(base.length).replace(/^\//, '') };
    const program = [...first, 'perl', '-e', thief(attacks, { flags: opened[how], passage })];
    const state = await daemon.run(
      by === 'exec'
        ? ['/bin/sleep', '600']
        : ['/bin/sh', '-c', '"$@"; exec sleep 600', 'sh', ...program],
      { mounts, env, ...more },
    );
    if (state.state !== 'running') throw new Error(`the workload is ${state.state}`);
    const output = async (): Promise<string> =>
      by === 'exec' ? ((await daemon.exec(program)).output ?? '') : daemon.log();
    const log = await eventually('the attacks', async () => {
      const text = await output();
      return text.includes('all tried') ? text : undefined;
    });
    return [...log.matchAll(/^reached: (.*)$/gm)].map(([, attack = '']) => attack).sort();
  }

  /** Returns the content of a target as the user of the machine reads it afterwards. */
  const readAsLocal = (target: string): string =>
    spawnSync('setpriv', [...asLocal, 'cat', join(victim, target)], { encoding: 'utf8' }).stdout;

  for (const handover of handovers) {
    const { from, how, passage, by } = handover;
    const what = `${by}: from ${from} with ${how}, through ${passage}`;
    describe(what, () => {
      it('gives a workload of root the files and services of root, as the guide says', async () => {
        expect(await reached('root', handover)).to.deep.equal(names(attacks));
        for (const target of ['opened', 'reached', 'listed'])
          expect(readAsLocal(target), target).to.equal('secret of root');
      });

      for (const capabilities of [[], ['net_bind_service']])
        it(`gives nothing to a workload with a user that owns nothing, and capabilities [${capabilities.join()}]`, async () => {
          const more = { user: '12345:12345', capabilities };
          expect(await reached('root', { ...handover, more })).to.deep.equal([]);
        });

      it('gives nothing of root to a workload of a daemon that is an ordinary user', async () => {
        expect(await reached('an ordinary user', handover)).to.deep.equal([]);
      });

      it('gives it the files and services of that user, as the guide says', async () => {
        const owner = 'an ordinary user';
        // Its user namespace has no other user, whom the access list could name.
        const expected = attacks.filter(({ name: attack }) => attack !== 'set an access list');
        expect(await reached(owner, { ...handover, owner })).to.deep.equal(names(expected));
      });

      it('is of use in a domain of Landlock, which refuses neither modes nor access lists', async function () {
        const abi = Number(spawnSync('perl', ['-e', landlocked], { encoding: 'utf8' }).stdout);
        if (abi < 7) {
          console.log(
            `      skipped: tried with ABI 7 of Landlock and later ones, this kernel has ${abi}`,
          );
          this.skip();
        }
        const before = ['perl', '-e', landlocked];
        const expected = names([...modeAttacks, ...(abi < 9 ? socketAttacks : [])]);
        expect(await reached('root', { ...handover, before })).to.deep.equal(expected);
        expect(readAsLocal('opened')).to.equal('secret of root');
      });
    });
  }

  for (const [capability, expected] of [
    ['dac_override', names([...contentAttacks, ...socketAttacks])],
    ['fowner', names(modeAttacks)],
  ] as const)
    it(`gives files of root to a workload with a user and ${capability}, as the guide says`, async () => {
      const [handover] = handovers;
      if (!handover) throw new Error('no handover');
      const more = { user: '12345:12345', capabilities: [capability] };
      expect(await reached('root', { ...handover, more })).to.include.members([...expected]);
    });
});
