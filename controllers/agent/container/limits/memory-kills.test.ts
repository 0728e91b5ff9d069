import { appendFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { RecordingLogger } from 'kedge/testing';
import { memoryKillIn, MemoryKills } from './memory-kills.js';

const id = '0c9b139e7478dbbb14ac2b0c49098aeeed9d44204bf6ed03092d4172eb79f8ea';
const other = 'f'.repeat(64);
/** A period that includes all kills. */
const long = Number.MAX_SAFE_INTEGER;

/** A record of the kernel about a kill at the limit of one control group, of a process in another. */
function killed(limited: string, victim = limited, constraint = 'CONSTRAINT_MEMCG'): string {
  return `6,42,6411500,-;oom-kill:constraint=${constraint},nodemask=(null),cpuset=${id},mems_allowed=0,oom_memcg=${limited},task_memcg=${victim},task=sh,pid=5791,uid=0`;
}

describe('kills at a memory limit in the log of the kernel', () => {
  let directory: string;
  let file: string;
  let logger: RecordingLogger;

  beforeEach(async () => {
    logger = new RecordingLogger();
    directory = await mkdtemp(join(tmpdir(), 'kedge-kernel-log-'));
    file = join(directory, 'kmsg');
  });
  afterEach(() => rm(directory, { recursive: true }));

  it('name the container whose control group has the limit and their time, for both drivers of control groups', () => {
    const kill = { container: id, atMs: 6_411.5 };
    expect(memoryKillIn(killed(`/docker/${id}`))).to.deep.equal(kill);
    expect(memoryKillIn(killed(`/system.slice/docker-${id}.scope`))).to.deep.equal(kill);
    expect(memoryKillIn(killed(`/docker/${id}`, `/docker/${id}/init`))).to.deep.equal(kill);
  });

  it('of others do not: of a group above or below a container, of the machine, or in a message of a process', () => {
    for (const line of [
      killed('/docker', `/docker/${id}`),
      killed(`/docker/${id}/init`),
      killed(`/docker/a${id}`),
      killed('/', `/docker/${id}`, 'CONSTRAINT_NONE'),
      `6,43,6412,-;Memory cgroup out of memory: Killed process 5791 (sh) total-vm:38112kB`,
      `6,44,6413,-;Memory cgroup stats for /docker/${id}:`,
      '',
    ])
      expect(memoryKillIn(line), line).to.equal(undefined);
    // A user's message begins after the semicolon, and its facility is not that of the kernel.
    expect(memoryKillIn(`12,45,6414,-;web: ${killed(`/docker/${id}`)}`)).to.equal(undefined);
    expect(memoryKillIn(killed(`/docker/${id}`).replace('6,42', '14,42'))).to.equal(undefined);
  });

  it('are read once, also those that are added later', async () => {
    await writeFile(file, `6,1,1,-;booted\n${killed(`/docker/${id}`)}\n SUBSYSTEM=x\n`);
    const kills = new MemoryKills({ logger, file });
    expect(await Promise.all([kills.include(id, long), kills.include(other, long)])).to.deep.equal([
      true,
      false,
    ]);
    await appendFile(file, `${killed(`/docker/${other}`)}\n`);
    expect(await kills.include(other, long)).to.equal(true);
    kills.close();
    expect(await kills.include(id, long), 'after the end').to.equal(true);
  });

  it('are those of a time before now, by the clock of the log, with its possible difference since the start', async () => {
    const day = 86_400_000;
    let up = 6_411.5 + 1_000;
    const kills = new MemoryKills({ logger, file, up: () => up });
    await writeFile(file, `${killed(`/docker/${id}`)}\n`);
    expect(await kills.include(id, 1_000)).to.equal(true);
    expect(await kills.include(id, 990)).to.equal(false);
    up = day;
    const ageMs = day - 6_411.5;
    expect(await kills.include(id, ageMs - 43_000)).to.equal(true);
    expect(await kills.include(id, ageMs - 44_000)).to.equal(false);
    // The latest kill of a container counts.
    await appendFile(file, `${killed(`/docker/${id}`).replace('6411500', `${day - 5}000`)}\n`);
    expect(await kills.include(id, 5)).to.equal(true);
    kills.close();
  });

  it('are found in a log that is longer than one read', async () => {
    const noise = Array.from(
      { length: 2_000 },
      (_, n) => `6,${n},1,-;eth0: entered promiscuous mode`,
    );
    const lines = [...noise, killed(`/docker/${id}`), ...noise, killed(`/docker/${other}`), ''];
    await writeFile(file, lines.join('\n'));
    const kills = new MemoryKills({ logger, file });
    expect(await kills.include(id, long)).to.equal(true);
    expect(await kills.include(other, long)).to.equal(true);
    kills.close();
  });

  it('are unknown without a log, which is not reported', async () => {
    const absent = new MemoryKills({ logger, file });
    expect(await absent.include(id, long)).to.equal(false);
    absent.close();
    expect(logger.lines).to.deep.equal([]);
  });

  it('are unknown if the log can not be opened or read, which is reported once', async () => {
    await writeFile(file, '');
    // A directory can be opened and not read; a file has no files in it.
    for (const [unreadable, code] of [
      [directory, 'EISDIR'],
      [join(file, 'kmsg'), 'ENOTDIR'],
    ] as const) {
      logger.lines.length = 0;
      const kills = new MemoryKills({ logger, file: unreadable });
      for (let count = 0; count < 3; count += 1)
        expect(await kills.include(id, long)).to.equal(false);
      kills.close();
      expect(logger.lines).to.have.lengthOf(1);
      expect(JSON.stringify(logger.lines[0])).to.contain(code).and.contain(unreadable);
    }
  });
});
