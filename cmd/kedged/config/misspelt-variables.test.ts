import { expect } from 'chai';
import { resolveSettings } from './settings.js';

const nothing = { flags: {}, environment: {}, file: {}, profile: {} };

describe('a misspelt variable of the environment', () => {
  it('is an error with the similar setting', () => {
    for (const [wrong, meant] of [
      ['KEDGE_LOG_LEVLE', 'KEDGE_LOG_LEVEL'],
      ['KEDGE_STORAGE_ALOW_CREATE_MISSING', 'KEDGE_STORAGE_ALLOW_CREATE_MISSING'],
      ['KEDGE_CONTROLLERS_HEARTBEATMS', 'KEDGE_CONTROLLERS_HEARTBEAT_MS'],
      ['KEDGE_CONFIGS', 'KEDGE_CONFIG'],
    ] as const)
      expect(() => resolveSettings({ ...nothing, environment: { [wrong]: 'x' } })).to.throw(
        `${wrong}: is not a setting; did you mean ${meant}?`,
      );
  });

  it('is distinguished from variables of other programs and of the command line', () => {
    const environment = {
      KEDGE_TOKEN: 'x',
      KEDGE_SERVER: 'x',
      KEDGE_MY_DRIVER_REGION: 'x',
      LOG_LEVLE: 'x',
    };
    expect(() => resolveSettings({ ...nothing, environment })).not.to.throw();
  });
});
