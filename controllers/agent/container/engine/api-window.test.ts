import { expect } from 'chai';
import { commonVersion } from './api-window.js';

describe('the version of the engine API', () => {
  const version = '20.10.24';

  for (const [minApiVersion, apiVersion, common] of [
    ['1.12', '1.41', '1.41'],
    ['1.24', '1.43', '1.43'],
    ['1.44', '1.52', '1.44'],
    ['1.24', '1.100', '1.44'],
  ] as const)
    it(`is ${common} with an engine that supports ${minApiVersion} to ${apiVersion}`, () => {
      expect(commonVersion({ version, apiVersion, minApiVersion })).to.equal(common);
    });

  it('an engine that is too old is refused with the versions of both sides and the remedy', () => {
    expect(() => commonVersion({ version, apiVersion: '1.40', minApiVersion: '1.12' })).to.throw(
      'the container engine 20.10.24 supports API 1.12 to 1.40, and kedged supports 1.41 to 1.44; upgrade the engine (Docker 20.10 or later)',
    );
  });

  it('an engine that is too new is refused with the versions of both sides and the remedy', () => {
    expect(() => commonVersion({ version, apiVersion: '1.60', minApiVersion: '1.45' })).to.throw(
      'supports API 1.45 to 1.60, and kedged supports 1.41 to 1.44; upgrade kedged, or use an older engine',
    );
  });

  it('a text that is not a version is refused', () => {
    expect(() => commonVersion({ version, apiVersion: 'new', minApiVersion: '1.12' })).to.throw(
      '"new" is not a version',
    );
  });
});
