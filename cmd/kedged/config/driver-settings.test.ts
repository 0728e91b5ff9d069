import { expect } from 'chai';
import { parse } from 'smol-toml';
import { configurationFile } from './load-config.js';
import { environmentName } from './misspelt-variables.js';
import { resolveSettings } from './settings.js';

const nothing = { flags: {}, environment: {}, file: {}, profile: {} };

describe('settings of cloud drivers', () => {
  const file = {
    drivers: {
      'cloud1-volume': {
        endpoint: 'http://127.0.0.1:9000/',
        deviceDirectory: '/srv/by-id',
        apiTokenSecretRef: 'infra/cloud',
        timeouts: { requestMs: 2_000 },
      },
    },
  };

  it('are read from their table and the environment, and absent if they are not set', () => {
    expect(resolveSettings(nothing).drivers).to.deep.equal({});
    const key = 'drivers.cloud2-volume.timeouts.deviceMs';
    expect(environmentName(key)).to.equal('KEDGE_DRIVERS_CLOUD2_VOLUME_TIMEOUTS_DEVICE_MS');
    const environment = { [environmentName(key)]: '500' };
    expect(resolveSettings({ ...nothing, file, environment }).drivers).to.deep.equal({
      'cloud1-volume': { ...file.drivers['cloud1-volume'], endpoint: 'http://127.0.0.1:9000' },
      'cloud2-volume': { timeouts: { deviceMs: 500 } },
    });
  });

  it('are printed as an equivalent configuration file', () => {
    const config = resolveSettings({ ...nothing, file });
    const printed = configurationFile(config);
    expect(resolveSettings({ ...nothing, file: parse(printed) })).to.deep.equal(config);
  });

  it('unknown keys, unknown drivers and invalid values are errors', () => {
    const refused = (drivers: object): string => {
      try {
        resolveSettings({ ...nothing, file: { drivers } });
        return 'accepted';
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(refused({ 'cloud1-volume': { endpiont: 'x' } })).to.contain(
      'did you mean drivers.cloud1-volume.endpoint?',
    );
    expect(refused({ local: { endpoint: 'http://a' } })).to.contain(
      'drivers.local.endpoint: is not',
    );
    expect(refused({ 'cloud2-volume': { apiTokenSecretRef: 'a/b' } })).to.contain(
      'is not a setting',
    );
    for (const endpoint of [
      'api.example.com',
      'ftp://a',
      'http://a/v2',
      'http://u:p@a',
      'http://a?x',
    ])
      expect(refused({ 'cloud1-volume': { endpoint } }), endpoint).to.contain('without a path');
    expect(refused({ 'cloud1-volume': { deviceDirectory: 'by-id' } })).to.contain('absolute');
    expect(refused({ 'cloud1-volume': { timeouts: { requestMs: 0 } } })).to.contain('at least 1');
    expect(refused({ 'cloud1-volume': { apiTokenSecretRef: 'secret:a/b' } })).to.contain(
      '<namespace>/<secret-name>',
    );
  });
});
