import { expect } from 'chai';
import { imageName, parseImage } from './image-reference.js';

const digest = `sha256:${'0a'.repeat(32)}`;

describe('the name of an image', () => {
  for (const [text, host, name] of [
    ['redis', 'docker.io', 'redis:latest'],
    ['redis:7', 'docker.io', 'redis:7'],
    ['library/redis:7.2-alpine', 'docker.io', 'library/redis:7.2-alpine'],
    ['localhost/app', 'localhost', 'localhost/app:latest'],
    ['localhost:5000/app:v1', 'localhost:5000', 'localhost:5000/app:v1'],
    [
      'registry.example.com/team/app:1.2',
      'registry.example.com',
      'registry.example.com/team/app:1.2',
    ],
    [`app@${digest}`, 'docker.io', `app@${digest}`],
    [
      `r.example.com:80/a/b__c:1@${digest}`,
      'r.example.com:80',
      `r.example.com:80/a/b__c@${digest}`,
    ],
  ] as const)
    it(`${text} is ${name} of ${host}`, () => {
      const image = parseImage(text);
      expect(image?.host).to.equal(host);
      expect(image && imageName(image)).to.equal(name);
    });

  for (const text of [
    '',
    'Redis',
    'redis:',
    'redis:7:8',
    'a//b',
    '/a',
    'a/',
    '../a',
    'a b',
    'a?x=1',
    'http://a/b',
    `app@${digest}0`,
    'app@sha256:12',
    `a${'/a'.repeat(300)}`,
    'host.example.com:port/a',
  ])
    it(`${JSON.stringify(text.slice(0, 40))} is not valid`, () => {
      expect(parseImage(text)).to.equal(undefined);
    });
});
