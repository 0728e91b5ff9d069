import { expect } from 'chai';
import { formats } from './formats.js';

describe('formats', () => {
  it('DNS labels, quantities and paths are validated by their formats', () => {
    const good = {
      'dns-label': 'a-1',
      'dns-subdomain': 'a-1.b',
      'registry-host': '*.example.com:5000',
      'object-reference': 'a.b.svc',
      quantity: '10Gi',
      'int-or-string': '1000:1000',
      'absolute-path': '/a/b',
      'date-time': '2026-02-28T00:00:00.5+01:00',
    };
    const bad = {
      'dns-label': 'A',
      'dns-subdomain': 'a..b',
      'registry-host': 'https://example.com',
      'object-reference': 'a.b',
      quantity: '10Gx',
      'int-or-string': 'a\0b',
      'absolute-path': '/a/../b',
      'date-time': '2026-02-28',
    };
    for (const [name, format] of Object.entries(formats)) {
      expect(format.test(good[name as keyof typeof good]), name).to.equal(true);
      expect(format.test(bad[name as keyof typeof bad]), name).to.equal(false);
    }
    expect(formats['dns-label']?.test('x'.repeat(64))).to.equal(false);
    expect(formats.quantity?.test('0')).to.equal(false);
  });
});
