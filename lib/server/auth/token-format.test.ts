import { expect } from 'chai';
import fc from 'fast-check';
import { makeToken, parseToken, secretMatches, withoutTokens } from './token-format.js';

describe('tokens', () => {
  it('parse back, and match only their own secret', () => {
    const token = makeToken();
    const parsed = parseToken(token.text);
    expect(parsed?.id).to.equal(token.id);
    expect(secretMatches(parsed!.secret, token.hash)).to.equal(true);
    expect(secretMatches(parseToken(makeToken().text)!.secret, token.hash)).to.equal(false);
  });

  it('a change of any one character is detected', () => {
    const { text } = makeToken();
    fc.assert(
      fc.property(fc.nat(text.length - 1), (at) => {
        const other = text[at] === 'x' ? 'y' : 'x';
        expect(parseToken(`${text.slice(0, at)}${other}${text.slice(at + 1)}`)).to.equal(undefined);
      }),
    );
  });

  it('are redacted in a text except for their ids', () => {
    const [first, second] = [makeToken(), makeToken()];
    const text = `a ${first.text}, x${second.text.slice(0, -20)}`;
    const shown = withoutTokens(text);
    expect(shown).to.equal(`a kedge_${first.id}_********, xkedge_${second.id}_********`);
    expect(withoutTokens(first.id)).to.equal(first.id);
  });
});
