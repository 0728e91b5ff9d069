import { expect } from 'chai';
import { limitsOf, portViolations, requestsOf, resourceViolations, takenPorts } from './index.js';

const fields = (violations: readonly { readonly field: string }[]) =>
  violations.map(({ field }) => field);

describe('resources of a workload', () => {
  it('a limit without a request is the request, to the thousandth of a processor', () => {
    const resources = {
      cpu: { limit: '1.5' },
      memory: { request: '64Mi', limit: '128Mi' },
      pids: 20,
      sharedMemory: '1Gi',
    };
    expect(requestsOf({ resources })).to.deep.equal({
      cpuMillis: 1_500,
      memoryBytes: 64 * 2 ** 20,
      pids: 20,
    });
    expect(limitsOf({ resources })).to.deep.equal({
      cpuMillis: 1_500,
      cpuRequestMillis: 1_500,
      memoryBytes: 2 ** 27,
      pids: 20,
      sharedMemoryBytes: 2 ** 30,
    });
    expect(limitsOf({})).to.deep.equal({});
  });

  it('are refused where no engine takes them, and where a request exceeds its limit', () => {
    const of = (resources: object, runtime: 'container' | 'process' = 'container') =>
      fields(resourceViolations({ runtime, resources }));
    expect(of({ cpu: { request: '500m', limit: '250m' } })).to.deep.equal([
      'resources.cpu.request',
    ]);
    expect(of({ cpu: { limit: '9m' } })).to.deep.equal(['resources.cpu.limit']);
    expect(of({ memory: { request: '2Gi', limit: '1Gi' } })).to.deep.equal([
      'resources.memory.request',
    ]);
    expect(of({ memory: { limit: '5Mi' } })).to.deep.equal(['resources.memory.limit']);
    expect(of({ sharedMemory: '1Gi' }, 'process')).to.deep.equal(['resources.sharedMemory']);
    expect(of({ cpu: { request: '250m', limit: '250m' }, sharedMemory: '1Gi' })).to.deep.equal([]);
  });
});

describe('ports of a workload', () => {
  const web = { name: 'web', port: 80 };

  it('are taken on the node where they have a host port, or where the workload listens there', () => {
    const published = { ...web, hostPort: 8080 };
    const expected = { name: 'web', hostPort: 8080, port: 80, protocol: 'TCP' };
    expect(takenPorts({ ports: [web] })).to.deep.equal([]);
    expect(takenPorts({ ports: [published] })).to.deep.equal([expected]);
    const own = [{ ...expected, hostPort: 80 }];
    expect(takenPorts({ ports: [web], network: 'host' })).to.deep.equal(own);
    expect(takenPorts({ ports: [web], runtime: 'process' })).to.deep.equal(own);
  });

  it('are refused if one is used twice, without a network, and with another host port in the network of the node', () => {
    const of = (template: object) => fields(portViolations(template));
    expect(of({ ports: [web, { ...web, port: 81 }] })).to.deep.equal(['ports[1].name']);
    expect(of({ ports: [web, { name: 'b', port: 80 }] })).to.deep.equal(['ports[1].port']);
    expect(of({ ports: [web, { name: 'b', port: 80, protocol: 'UDP' }] })).to.deep.equal([]);
    const twice = [
      { ...web, hostPort: 90 },
      { name: 'b', port: 81, hostPort: 90 },
    ];
    expect(of({ ports: twice })).to.deep.equal(['ports[1].hostPort']);
    expect(of({ ports: [web], network: 'none' })).to.deep.equal(['ports']);
    const published = [{ ...web, hostPort: 8080 }];
    expect(of({ ports: published, network: 'host' })).to.deep.equal(['ports[0].hostPort']);
    expect(of({ ports: published, runtime: 'process' })).to.deep.equal(['ports[0].hostPort']);
    expect(of({ runtime: 'process', network: 'bridge', init: true })).to.deep.equal([
      'network',
      'init',
    ]);
  });
});
