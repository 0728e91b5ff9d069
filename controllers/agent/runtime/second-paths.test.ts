import { expect } from 'chai';
import type { MountEntry } from '@kedge/driver-sdk';
import { secondPathsAmong } from './second-paths.js';

/** A mount of a directory of a device. */
function mount(device: string, root: string, target: string): MountEntry {
  return { device, root, target, readOnly: false, fsType: 'ext4', source: `/dev/${device}` };
}

describe('the further paths of private directories', () => {
  const data = '/var/lib/kedge';
  const machine = [mount('8:1', '/', '/'), mount('0:5', '/', '/dev')];

  it('are those of bind mounts of them, of directories above and below them, and of files', () => {
    const mounts = [
      ...machine,
      mount('8:1', data, '/srv/alias'),
      mount('8:1', '/var', '/mnt/var'),
      mount('8:1', '/', '/mnt/root'),
      mount('8:1', `${data}/db`, '/mnt/db'),
      mount('8:1', '/etc/key', '/mnt/key'),
    ];
    expect(secondPathsAmong([data, '/etc/key'], mounts)).to.have.members([
      ...['/srv/alias', '/mnt/var/lib/kedge', '/mnt/root/var/lib/kedge', '/mnt/db'],
      ...['/mnt/root/etc/key', '/mnt/key'],
    ]);
  });

  it('include those of a file system that is mounted twice', () => {
    const mounts = [...machine, mount('8:2', '/', '/var/lib'), mount('8:2', '/', '/mnt')];
    expect(secondPathsAmong([data], mounts)).to.deep.equal(['/mnt/kedge']);
    expect(secondPathsAmong(['/mnt'], mounts)).to.deep.equal(['/var/lib']);
  });

  it('are not those of other file systems and of other directories', () => {
    const mounts = [
      ...machine,
      mount('8:2', data, '/mnt'),
      mount('8:1', '/var/lib/kedge-other', '/srv/other'),
      mount('8:1', '/home', '/srv/home'),
    ];
    expect(secondPathsAmong([data], mounts)).to.deep.equal([]);
  });

  it('are not those inside of a private directory, such as its mount on itself', () => {
    const mounts = [
      ...machine,
      mount('8:1', data, data),
      mount('8:1', `${data}/mounts`, `${data}/mounts`),
      mount('8:1', '/srv/volumes/a', `${data}/mounts/a`),
    ];
    expect(secondPathsAmong([data, '/srv/volumes'], mounts)).to.deep.equal([]);
  });

  it('are not the files that the engine mounts into the container of kedged', () => {
    const engine = '/var/lib/docker';
    const mounts = [
      mount('0:7', '/', '/'),
      mount('8:1', engine, engine),
      ...['hostname', 'hosts', 'resolv.conf', 'other'].map((name) =>
        mount('8:1', `${engine}/containers/c/${name}`, `/etc/${name}`),
      ),
    ];
    expect(secondPathsAmong([engine], mounts)).to.deep.equal(['/etc/other']);
  });

  it('are computed from the mount that is visible: the last at a path', () => {
    const mounts = [
      ...machine,
      mount('8:2', '/', data),
      mount('0:9', '/', data),
      mount('8:2', '/', '/old'),
      mount('0:9', '/', '/new'),
      mount('8:1', data, '/below'),
    ];
    expect(secondPathsAmong([data], mounts)).to.deep.equal(['/new']);
  });
});
