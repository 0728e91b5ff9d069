import { expect } from 'chai';
import { finish } from '../daemon.js';

describe('an older Node.js', () => {
  for (const program of ['kedge', 'kedged'])
    it(`is refused by ${program} with a message`, async () => {
      const older = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '18.20.4' } })`;
      const preload = `data:text/javascript,${encodeURIComponent(older)}`;
      const args = ['--import', preload, `cmd/bin/${program}.mjs`, '--version'];
      const { code, stdout, stderr } = await finish(process.execPath, args);
      expect([code, stdout]).to.deep.equal([1, '']);
      expect(stderr).to.contain(`${program} needs Node.js 20.19 or newer, this is 18.20.4`);
    });
});
