import { expect } from 'chai';
import { parseImage } from '../../../service/image/image-reference.js';
import { dockerConfigCredentials } from './docker-config.js';

const image = parseImage('r.example.com/team/app:1');

describe('the credentials in a file of docker login', () => {
  const read = (auths: object) =>
    image && dockerConfigCredentials(JSON.stringify({ auths }), image);
  const auth = (text: string): string => Buffer.from(text).toString('base64');
  const serverAddress = 'r.example.com';

  it('a password may contain colons, and the most specific entry applies', () => {
    const auths = {
      'https://r.example.com': { auth: auth('host:h') },
      'r.example.com/team': { auth: auth('team:a:b') },
    };
    expect(read(auths)).to.deep.equal({ username: 'team', password: 'a:b', serverAddress });
  });

  it('tokens are returned as tokens', () => {
    expect(read({ 'r.example.com': { identitytoken: 'i' } })).to.deep.equal({
      identityToken: 'i',
      serverAddress,
    });
    expect(read({ 'r.example.com': { registrytoken: 'r' } })).to.deep.equal({
      registryToken: 'r',
      serverAddress,
    });
  });

  it('a file for other registries has none, and errors do not quote the file', () => {
    expect(read({ 'other.example.com': { auth: auth('a:b') } })).to.equal(undefined);
    for (const text of ['s3cret', '{"s3cret":1}'])
      expect(() => image && dockerConfigCredentials(text, image))
        .to.throw(/use the file that docker login writes/)
        .with.property('message')
        .that.does.not.contain('s3cret');
  });
});
