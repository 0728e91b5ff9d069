import { expect } from 'chai';
import fc from 'fast-check';
import { table } from './kedge/output/output.js';
import { printable, printableLine } from './terminal-text.js';

describe('untrusted text on a terminal', () => {
  it('shows control characters as escapes', () => {
    expect(printable('a\u001b[31mb\u009b2J\u007f\r')).to.equal(
      'a\\u001b[31mb\\u009b2J\\u007f\\u000d',
    );
    expect(printable('gnp\u202e.exe\u2066\u2028')).to.equal('gnp\\u202e.exe\\u2066\\u2028');
  });

  it('keeps letters of every script, tabs and newlines', () => {
    expect(printable('größe\t大きさ\n👍🏽')).to.equal('größe\t大きさ\n👍🏽');
  });

  it('has no control characters except tab and newline, whatever the input', () => {
    const any = fc.string({ unit: 'binary' });
    fc.assert(
      fc.property(any, (text) => {
        expect(printable(text)).not.to.match(/(?![\t\n])[\p{Cc}\p{Bidi_Control}]/u);
        expect(printableLine(text)).not.to.match(/\p{Cc}/u);
      }),
    );
  });

  it('adds no line to a table and no color', () => {
    expect(table([['NAME'], ['a\nb\u001b[2J']])).to.equal('NAME\na b\\u001b[2J');
  });
});
