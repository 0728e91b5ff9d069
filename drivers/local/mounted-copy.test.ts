import { expect } from 'chai';
import { memoryJournal, nodeHost } from '@kedge/driver-sdk';
import { copyMountedImage } from './mounted-copy.js';

describe('a copy of a mounted image', () => {
  it('closes the file system if its device is removed meanwhile', async () => {
    let closed = 0;
    const none = (): Promise<never> => Promise.reject(new Error('nothing is run'));
    const host = {
      ...nodeHost(none),
      deviceNumber: () => Promise.reject(new Error('ENOENT: /dev/loop7')),
      openDirectory: () =>
        Promise.resolve({
          device: '7:7',
          path: '/proc/1/fd/3',
          close: () => {
            closed += 1;
            return Promise.resolve();
          },
        }),
    };
    const source = { uid: 'v', image: '/v.img', device: '/dev/loop7', target: '/mounted' };
    const { signal } = new AbortController();
    const copy = { host, journal: memoryJournal(), source, draft: '/draft', signal };
    const error: unknown = await copyMountedImage(copy).catch((thrown: unknown) => thrown);
    expect(String(error)).to.contain('ENOENT');
    expect(closed).to.equal(1);
  });
});
