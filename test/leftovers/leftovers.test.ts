import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, rmdirSync } from 'node:fs';
import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { runCommand } from '@kedge/driver-sdk';
import { eventually } from 'kedge/testing';
import { requireDevices } from '../drivers/devices.js';
import { interfacesOf } from './engine-networks.js';
import { differences, machineState } from './machine.js';
import { noteCluster } from './own-clusters.js';

describe('the resources that tests leave on a machine', () => {
  let directory: string;
  before(async function () {
    requireDevices(this);
    directory = await mkdtemp(join(tmpdir(), 'kedge-left-'));
  });
  after(async () => {
    if (directory) await rm(directory, { recursive: true });
  });

  const command = async (...words: readonly string[]): Promise<string> => {
    const [program = '', ...args] = words;
    const { exitCode, stdout, stderr } = await runCommand(
      program,
      args,
      new AbortController().signal,
    );
    expect(exitCode, stderr).to.equal(0);
    return stdout.trim();
  };
  const found = () => {
    const state = machineState({ directory, firewall: false });
    return [...state].filter(
      (line) => line.includes(directory) || line.includes(String(process.pid)),
    );
  };

  it('include mounts, loop devices, processes and control groups', async () => {
    expect(found()).to.deep.equal([]);
    const [target, image] = [join(directory, 'm'), join(directory, 'image')];
    await mkdir(target);
    await command('mount', '-t', 'tmpfs', 'none', target);
    await writeFile(image, '');
    await truncate(image, 1 << 20);
    const device = await command('losetup', '--find', '--show', image);
    const child = spawn('tail', ['-f', image], { stdio: 'ignore' });
    const group = `/sys/fs/cgroup/pids/kedge-test-${process.pid}-x`;
    const hasGroups = await mkdir(group).then(
      () => true,
      () => false,
    );
    try {
      await eventually('the process', () => found().some((line) => line.includes('tail -f')));
      expect(found()).to.have.members([
        `mount ${target}`,
        `loop device ${device.slice('/dev/'.length)} of ${image}`,
        `process ${child.pid ?? 0}: tail -f ${image}`,
        ...(hasGroups ? [`control group ${group}`] : []),
      ]);
    } finally {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
      if (hasGroups) rmdirSync(group);
      await command('losetup', '--detach', device);
      await command('umount', target);
    }
    await eventually('nothing', () => found().length === 0);
  });

  it('include control groups of workloads of this process’s clusters, and not those of others', async function () {
    const cluster = randomUUID();
    const [own, other] = [cluster, randomUUID()].map(
      (id) => `/sys/fs/cgroup/pids/kedge/${id.slice(0, 8)}-${randomUUID()}`,
    );
    if (!existsSync('/sys/fs/cgroup/pids') || own === undefined || other === undefined) this.skip();
    const groups = (): readonly string[] =>
      [...machineState({ directory, firewall: false })].filter((line) => line.includes('-'));
    for (const group of [own, other]) await mkdir(group, { recursive: true });
    try {
      expect(groups(), 'before the cluster is known').to.not.include(`control group ${own}`);
      noteCluster(cluster);
      expect(groups()).to.include(`control group ${own}`);
      expect(groups()).to.not.include(`control group ${other}`);
    } finally {
      for (const group of [own, other]) rmdirSync(group);
    }
    expect(groups()).to.not.include(`control group ${own}`);
  });

  it('include network interfaces of engines, also after an engine and its directory were removed', async () => {
    const bridge = `br-${randomBytes(6).toString('hex')}`;
    const engine = join(directory, 'engine');
    await mkdir(join(engine, 'data/network/files'), { recursive: true });
    await writeFile(
      join(engine, 'data/network/files/local-kv.db'),
      `\0{"bridge_name":"${bridge}"}\0veth0000000 br-short`,
    );
    const networks = (): string[] =>
      [...machineState({ directory, firewall: false })].filter((line) => line.includes('network'));
    expect(networks()).to.deep.equal([]);
    await command('ip', 'link', 'add', bridge, 'type', 'bridge');
    try {
      expect(interfacesOf(engine)).to.deep.equal([bridge]);
      expect(interfacesOf(directory)).to.deep.equal([]);
      await rm(engine, { recursive: true });
      expect(networks()).to.deep.equal([`network interface ${bridge}`]);
    } finally {
      await command('ip', 'link', 'delete', bridge);
    }
    expect(networks()).to.deep.equal([]);
  });

  it('are reported if they are new, and firewall rules also if they were removed', () => {
    const before = new Set(['mount /a', 'rule of iptables-save: :FORWARD ACCEPT']);
    const after = new Set(['mount /b', 'rule of iptables-save: :FORWARD DROP']);
    expect(differences(before, after)).to.deep.equal([
      'mount /b',
      'rule of iptables-save: :FORWARD DROP',
      'no longer: rule of iptables-save: :FORWARD ACCEPT',
    ]);
    expect(differences(before, before)).to.deep.equal([]);
  });
});
