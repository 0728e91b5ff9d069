import { expect } from 'chai';
import { containerConfig } from './container-config.js';

const plan = {
  spec: { id: 'u1', command: ['/bin/true'], env: {}, mounts: [] },
  identity: { cluster: 'c', id: 'u1', run: 1 },
  image: { id: 'sha256:1', digest: 'sha256:1' },
  network: 'n',
} as const;

describe('the configuration of a container', () => {
  it('is refused for a mount whose subPath the daemon has not bound itself', () => {
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
});
