import { expect } from 'chai';
import { parseImage } from '../../../service/image/image-reference.js';
import { pullRemedy } from './pull-refusal.js';
import type { FoundCredentials } from './registry-credentials.js';

const image = parseImage('r.example.com/team/app:1')!;
const none: FoundCredentials = { registry: 'r', credentials: undefined };
const some: FoundCredentials = {
  registry: 'r',
  credentials: { username: 'u', password: 'p', serverAddress: 'r.example.com' },
};

describe('the remedy of a refused pull', () => {
  // The messages are those of Docker 20.10.
  for (const [message, found, remedy] of [
    ['Head "x": no basic auth credentials', undefined, /no Registry matches r\.example\.com; ca/],
    ['unauthorized: authentication required', none, /registry r has no credentials for/],
    ['unauthorized: authentication required', some, /rejected the credentials of registry r;/],
    [
      "pull access denied for app, repository does not exist or may require 'docker login'",
      undefined,
      /^either the repository does not exist \(correct image of the service\), or no Registry matches/,
    ],
    [
      "pull access denied for app, repository does not exist or may require 'docker login'",
      some,
      /correct image of the service\), or .* rejected the credentials of registry r;/,
    ],
    ['manifest for app:1 not found: manifest unknown: manifest unknown', some, /does not have/],
    ['http: server gave HTTP response to HTTPS client', undefined, /insecure-registries/],
    ['x509: certificate signed by unknown authority', undefined, /certs\.d\/r\.example\.com\/ca/],
    ['toomanyrequests: You have reached your pull rate limit', undefined, /limits anonymous/],
    ['toomanyrequests: You have reached your pull rate limit', none, /edit registry\/r$/],
    ['toomanyrequests: You have reached your pull rate limit', some, /account with a higher limit/],
    ['dial tcp: lookup r.example.com: no such host', undefined, /can't be resolved/],
    ['dial tcp 10.0.0.1:443: connect: connection refused', undefined, /does not answer/],
    ['write /x: no space left on device', undefined, /kedge image prune/],
    ['something new', undefined, /^$/],
  ] as const)
    it(`${message} (${found ? (found.credentials ? 'with' : 'without') : 'no'} credentials)`, () => {
      expect(pullRemedy(message, image, found)).to.match(remedy);
    });

  it('of content that earlier runs have, and the registry no longer, is another content', () => {
    const message = 'manifest for r.example.com/team/app@sha256:0 not found: manifest unknown';
    expect(pullRemedy(message, image, some, true)).to.match(/imagePull always/);
    expect(pullRemedy(message, image, some)).to.match(/correct image of the service$/);
  });
});
