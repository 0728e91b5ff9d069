import { expect } from 'chai';
import { DriverError } from '../errors/errors.js';
import { fsTypeRule, requireParameters, validateByRules } from './parameters.js';

describe('parameters by rules', () => {
  const rules = [
    { key: 'encrypted', values: ['true', 'false'] },
    { key: 'iops', wholeNumber: true },
    fsTypeRule,
  ];

  it('references are validated when they are resolved, like other values', () => {
    const given = { encrypted: 'secret:a/b', iops: 'secret:a/c', fsType: 'secret:a/d' };
    for (const level of ['class', 'volume'] as const)
      expect(validateByRules(rules, given, { level })).to.deep.equal([]);
    const resolved = { encrypted: 'no', iops: '-1', fsType: 'btrfs' };
    const judged = validateByRules(rules, resolved, { level: 'resolved' });
    expect(judged.map(({ key }) => key)).to.deep.equal(['encrypted', 'iops', 'fsType']);
    // A secret may itself read like a reference.
    expect(validateByRules(rules, given, { level: 'resolved' })).to.have.length(3);
  });

  it('neither resolved values nor those of sensitive parameters are quoted', () => {
    const value = 'hunter2hunter2';
    const resolved = validateByRules(rules, { fsType: value }, { level: 'resolved' });
    const sensitive = [{ key: 'fsType', values: ['ext4'], sensitive: true }];
    const literal = validateByRules(sensitive, { fsType: value }, { level: 'volume' });
    for (const violations of [resolved, literal]) {
      expect(violations).to.have.length(1);
      expect(violations[0]?.description).to.not.contain(value);
      expect(() => requireParameters(violations))
        .to.throw(DriverError, /^parameter fsType: the value is not allowed; use one of ext4/)
        .with.property('kind', 'InvalidParameters');
    }
    const shown = validateByRules(rules, { fsType: value }, { level: 'volume' });
    expect(shown[0]?.description).to.contain(value);
  });
});
