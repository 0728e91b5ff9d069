import { expect } from 'chai';
import { describeHolders } from '../node/holders.js';
import { shownName } from './shown-name.js';

describe('untrusted names in messages', () => {
  it('plain names and paths are unchanged', () => {
    for (const name of ['', 'postgres', 'kworker/0:1', '/srv/kedge/volumes/v_1', 'größe'])
      expect(shownName(name)).to.equal(name);
  });

  it('control characters, bidirectional controls and line ends are replaced', () => {
    const steering = ['\u001b[2J', '\n', '\r', '\u0000', '\u009b', '\u007f', '\u202e', '\u2066'];
    for (const text of [...steering, '\u200f', '\u2028', '\u2029', '\ud800', '\ufeff'])
      expect(shownName(`a${text}b`), JSON.stringify(text)).to.match(/^'?a\?[\w[]*b'?$/);
  });

  it('a long name is truncated', () => {
    expect(shownName('x'.repeat(100_000)))
      .to.have.length.below(210)
      .and.to.match(/…'$/);
  });

  it('a name can not be mistaken for a part of the message or of its command', () => {
    expect(shownName('x), pid 1 (init')).to.equal("'x), pid 1 (init'");
    expect(shownName("/m'; rm -rf /'")).to.equal("'/m?; rm -rf /?'");
    const command = 'a\u001b]0;b\n);reboot';
    const description = describeHolders([
      { type: 'files', pid: 7, command },
      { type: 'mount', pid: 8, command, target: '/a\u202e$(reboot)', here: true },
      { type: 'mount', pid: 9, command, target: '/b\u009b\n', here: false },
      { type: 'swap', path: '/c\r`reboot`' },
    ]);
    expect(description).to.match(/^[\x20-\x7e]+$/);
    expect(description).to.contain("unmount it (umount '/a?$(reboot)')");
    expect(description).to.contain("turn it off (swapoff '/c?`reboot`')");
    expect(description).to.contain("pid 7 ('a?]0;b?);reboot')");
  });
});
