import { expect } from 'chai';
import { containerConfig } from './container-config.js';

const plan = {
  spec: { id: 'u1', command: ['/bin/true'], env: {}, mounts: [] },
  identity: { cluster: 'c', id: 'u1', run: 1 },
  image: { id: 'sha256:1', digest: 'sha256:1' },
  network: 'n',
  hostPortAddress: '127.0.0.1',
} as const;

describe('the configuration of a container', () => {
  it('is refused for a mount with a subPath that the daemon has not bound', () => {
    const mount = {
      source: '/v',
      target: '/data',
      readOnly: false,
      propagation: 'rslave',
    } as const;
    expect(() => containerConfig({ ...plan, mounts: [{ ...mount, subPath: 'a/b' }] })).to.throw(
      'mount /data: subPath "a/b" needs a kedged that runs as root',
    );
    expect(() => containerConfig({ ...plan, mounts: [mount] })).not.to.throw();
  });

  const hostOf = (more: object) => {
    const { HostConfig } = containerConfig({
      ...plan,
      spec: { ...plan.spec, namespace: 'ns', name: 'web-0', service: 'web', ...more },
      mounts: [],
    });
    return HostConfig as Record<string, unknown>;
  };

  it('excludes new privileges, capabilities and restarts by the engine, and keeps read-only mounts read-only', () => {
    expect(hostOf({})).to.deep.include({
      CapDrop: ['NET_RAW', 'MKNOD'],
      SecurityOpt: ['no-new-privileges'],
      RestartPolicy: { Name: 'no' },
    });
    expect(hostOf({ capabilities: [] })).to.deep.include({ CapDrop: ['NET_RAW', 'MKNOD'] });
    for (const [capabilities, CapAdd] of [
      [['none'], []],
      [['net_bind_service'], ['NET_BIND_SERVICE']],
    ])
      expect(hostOf({ capabilities })).to.deep.include({ CapDrop: ['ALL'], CapAdd });
    const mount = { source: '/v', target: '/d', propagation: 'rslave' } as const;
    const mounts = [true, false].map((readOnly) => ({ ...mount, readOnly }));
    const bind = { Type: 'bind', Source: '/v', Target: '/d' };
    const BindOptions = { Propagation: 'rslave' };
    expect(containerConfig({ ...plan, mounts }).HostConfig).to.deep.include({
      Mounts: [true, false].map((ReadOnly) => ({ ...bind, ReadOnly, BindOptions })),
    });
  });

  it('replaces the entry point of the image by a command, and its command by arguments', () => {
    const wordsOf = (words: object) => {
      const { Entrypoint, Cmd } = containerConfig({
        ...plan,
        spec: { ...plan.spec, ...words },
        mounts: [],
      });
      return { Entrypoint, Cmd };
    };
    expect(wordsOf({ command: ['a'], args: ['b'] })).to.deep.equal({
      Entrypoint: ['a'],
      Cmd: ['b'],
    });
    expect(wordsOf({ command: ['a'] })).to.deep.equal({ Entrypoint: ['a'], Cmd: [] });
    const own = { Entrypoint: undefined, Cmd: undefined };
    expect(wordsOf({ command: [], args: ['b'] })).to.deep.equal({ ...own, Cmd: ['b'] });
    expect(wordsOf({ command: [] })).to.deep.equal(own);
  });

  it('has a host name with its namespace, unless it is too long', () => {
    const nameOf = (name: string) =>
      containerConfig({ ...plan, spec: { ...plan.spec, namespace: 'ns', name }, mounts: [] })
        .Hostname;
    expect(nameOf('web-0')).to.equal('web-0.ns');
    const fits = 'w'.repeat(60);
    expect(nameOf(fits)).to.equal(`${fits}.ns`);
    // Not `<name>.n`, a name of the namespace n.
    expect(nameOf(`${fits}x`)).to.equal(`${fits}x`);
  });

  it('joins the bridge under both names with its ports, unless another network is requested', () => {
    const ports = [{ name: 'dns', hostPort: 5353, port: 53, protocol: 'UDP' }];
    const spec = { ...plan.spec, namespace: 'ns', name: 'web-0', service: 'web' } as const;
    const bridged = containerConfig({ ...plan, spec: { ...spec, ports } as never, mounts: [] });
    expect(bridged.NetworkingConfig).to.deep.equal({
      EndpointsConfig: { n: { Aliases: ['web-0.ns', 'web.ns'] } },
    });
    expect(bridged.ExposedPorts).to.deep.equal({ '53/udp': {} });
    expect(bridged.HostConfig).to.deep.include({
      NetworkMode: 'n',
      DnsSearch: ['ns'],
      DnsOptions: ['ndots:1'],
      PortBindings: { '53/udp': [{ HostIp: '127.0.0.1', HostPort: '5353' }] },
    });
    for (const network of ['host', 'none'] as const) {
      const other = containerConfig({ ...plan, spec: { ...spec, network }, mounts: [] });
      expect(other.HostConfig).to.include({ NetworkMode: network });
      expect(other.HostConfig).to.not.have.any.keys('DnsSearch', 'PortBindings');
      expect(other).to.not.have.any.keys('NetworkingConfig', 'ExposedPorts');
    }
  });

  it('has the limits of the workload, and default limits and an init process without any', () => {
    expect(hostOf({})).to.deep.include({ Init: true, PidsLimit: 4_096, ShmSize: 67_108_864 });
    expect(hostOf({})).to.not.have.any.keys('Memory', 'CpuQuota', 'CpuShares');
    const limits = {
      cpuMillis: 2_500,
      cpuRequestMillis: 500,
      memoryBytes: 1_000_000_000,
      pids: 10,
      sharedMemoryBytes: 2_000_000,
    };
    expect(hostOf({ limits, init: false })).to.deep.include({
      Init: false,
      CpuPeriod: 100_000,
      CpuQuota: 250_000,
      CpuShares: 512,
      Memory: 1_000_000_000,
      MemorySwap: 1_000_000_000,
      PidsLimit: 10,
      ShmSize: 2_000_000,
    });
  });
});
