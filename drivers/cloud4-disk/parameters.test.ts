import { expect } from 'chai';
import { zoneViolations } from './parameters.js';

describe('the zone of a class of cloud4-disk', () => {
  it('is not the name of a region', () => {
    for (const zone of ['europe-west3', 'us-central1', 'northamerica-northeast1'])
      expect(zoneViolations({ zone }), zone).to.deep.equal([
        {
          key: 'zone',
          description: 'is the name of a region; give a zone of it, such as europe-west3-a',
        },
      ]);
    for (const zone of ['europe-west3-a', 'us-central1-ai1a', 'secret:a.b.svc/zone', ''])
      expect(zoneViolations({ zone }), zone).to.deep.equal([]);
    expect(zoneViolations({})).to.deep.equal([]);
  });
});
