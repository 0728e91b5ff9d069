import { expect } from 'chai';
import type { DriverError, Parameters } from '@kedge/driver-sdk';
import { createFields, combinationViolations, requireSize, zoneOf } from './parameters.js';

const gib = 1024n ** 3n;
const violations = (parameters: Parameters, level: 'class' | 'volume' | 'resolved' = 'class') =>
  combinationViolations(parameters, { level }).map(
    ({ key, description }) => `${key} ${description}`,
  );

describe('the parameters of cloud3-block', () => {
  it('refuse at the class what the provider always refuses, with the remedy', () => {
    expect(violations({ volumeType: 'gp2', iops: '4000' })).to.deep.equal([
      'iops is not possible with volumeType gp2; omit it, or use volumeType gp3, io1 or io2',
    ]);
    expect(violations({ volumeType: 'io2', throughput: '200' })).to.deep.equal([
      'throughput is not possible with volumeType io2; omit it, or use volumeType gp3',
    ]);
    expect(violations({ encrypted: 'false', kmsKeyId: 'k' })).to.deep.equal([
      'kmsKeyId is not possible with encrypted false; omit it, or set encrypted to true',
    ]);
    expect(violations({ iops: '4000', throughput: '200', kmsKeyId: 'k' }), 'gp3').to.deep.equal([]);
    expect(violations({ volumeType: 'x9', iops: '1', throughput: '1' }), 'unknown').to.deep.equal(
      [],
    );
  });

  it('refuse a region whose form can not be a part of a host name', () => {
    for (const region of [
      'eu central 1',
      'eu_central_1',
      'eu-central-1\n',
      '-eu',
      'eu.central',
      'eu-',
    ])
      expect(violations({ region }), region).to.deep.equal([
        'region is not the name of a region; give a name such as eu-central-1',
      ]);
    expect(violations({ region: 'secret:a.b.svc/region' })).to.deep.equal([]);
    expect(violations({ region: 'a b' }, 'resolved')).to.have.length(1);
    for (const region of ['eu-central-1', 'us-gov-west-1', 'mx-new-9'])
      expect(violations({ region })).to.deep.equal([]);
  });

  it('refuse a zone in place of a region, and a zone of another region', () => {
    const isZone =
      'region is the name of an availability zone; give its region, which has no letter at the end';
    for (const region of ['eu-central-1a', 'us-gov-west-1b'])
      expect(violations({ region }), region).to.deep.equal([isZone]);
    const region = 'us-west-2';
    const elsewhere =
      'availabilityZone is a zone of another region; its name begins with that of parameter region';
    for (const availabilityZone of ['us-east-1a', 'us-west-1a', 'eu-central-1c'])
      expect(violations({ region, availabilityZone })).to.deep.equal([elsewhere]);
    expect(violations({ region, availabilityZone: 'us-east-1a' }, 'resolved')).to.deep.equal([
      elsewhere,
    ]);
    // Local and wavelength zones have names of another form.
    for (const availabilityZone of ['us-west-2a', 'us-west-2-lax-1a', 'us-east-1-wl1-bos-wlz-1'])
      expect(violations({ region, availabilityZone }), availabilityZone).to.deep.equal([]);
    expect(violations({ region: 'secret:a.b.svc/region', availabilityZone: 'us-east-1a' })).to.be
      .empty;
  });

  it('are validated after the resolution of references, without quoting values', () => {
    const referenced = { volumeType: 'secret:a.b.svc/type', iops: '4000' };
    expect(violations(referenced)).to.deep.equal([]);
    expect(violations({ volumeType: 'sc1', iops: '4000' }, 'resolved')).to.deep.equal([
      'iops is not possible with this volumeType; omit it, or use volumeType gp3, io1 or io2',
    ]);
  });

  it('may be completed by a volume: iops of io2, the second half of a credential', () => {
    const half = { volumeType: 'io2', accessKeyId: 'AKIA' };
    expect(violations(half)).to.deep.equal([]);
    expect(violations(half, 'volume')).to.deep.equal([
      'iops is required for volumeType io2',
      'secretAccessKey is required with accessKeyId; set both (the role of the instance is used if a class and its volume have neither)',
    ]);
    expect(violations({ secretAccessKey: 'x' }, 'volume')[0]).to.match(
      /^accessKeyId is required with/,
    );
    expect(violations({ sessionToken: 'x' }, 'volume')).to.deep.equal([
      'sessionToken is not possible without accessKeyId and secretAccessKey; set both, or omit it',
    ]);
  });

  it('send gp3 and encryption explicitly, and iops and throughput only if they are given', () => {
    expect(createFields({})).to.deep.equal({ VolumeType: 'gp3', Encrypted: true });
    expect(
      createFields({
        volumeType: 'io2',
        iops: '500',
        throughput: '130',
        encrypted: 'true',
        kmsKeyId: 'k',
      }),
    ).to.deep.equal({
      VolumeType: 'io2',
      Encrypted: true,
      Iops: 500,
      Throughput: 130,
      KmsKeyId: 'k',
    });
    expect(createFields({ encrypted: 'false' })).to.include({ Encrypted: false });
  });

  it('have the minimum of their type, and refuse more than its maximum', () => {
    expect(requireSize(gib + 1n, {})).to.equal(2);
    expect(requireSize(gib, { volumeType: 'st1' })).to.equal(125);
    expect(requireSize(1n, { volumeType: 'x9' })).to.equal(1);
    expect(() => requireSize(16_385n * gib, { volumeType: 'gp2' })).to.throw(
      'are more than the 16384 GiB of the largest volume of its type',
    );
  });

  it('name the zone, else the label of the node does', () => {
    expect(zoneOf({ availabilityZone: 'a' }, { 'svc.io/zone': 'b' })).to.equal('a');
    expect(zoneOf({}, { 'svc.io/zone': 'b' })).to.equal('b');
    try {
      zoneOf({}, {});
      expect.fail('a zone');
    } catch (thrown) {
      expect((thrown as DriverError).kind).to.equal('InvalidParameters');
    }
  });
});
