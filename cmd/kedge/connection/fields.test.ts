import { expect } from 'chai';
import { services, volumes } from '@kedge/controllers';
import type { AnyKind } from 'kedge/objects';
import type { JsonObject } from 'kedge/rpc';
import { requireWritable } from './fields.js';

describe('the fields of a write', () => {
  const refusal = (kind: AnyKind, object: JsonObject): string => {
    try {
      requireWritable(kind, object);
      return '';
    } catch (error) {
      return String(error);
    }
  };

  it('have values that their enums have: the message would lack others, which would remove the field', () => {
    expect(refusal(volumes, { reclaimPolicy: 'retain', accessMode: 'ReadWriteOnce' })).to.equal('');
    expect(refusal(volumes, { reclaimPolicy: 'Retain' })).to.contain(
      'reclaimPolicy: "Retain" is not allowed; use one of retain, delete',
    );
    expect(refusal(volumes, { accessMode: 7 })).to.contain('accessMode: 7 is not allowed');
    expect(refusal(volumes, { reclaimPolicy: 'RECLAIM_POLICY_UNSPECIFIED' })).to.contain(
      'is not allowed',
    );
    const claimTemplate = { storageClassName: 'c', size: '1Gi', accessMode: 'Once' };
    const mount = { name: 'data', mountPath: '/data', claimTemplate };
    expect(refusal(services, { volumes: [mount] })).to.contain(
      'volumes[0].claimTemplate.accessMode: "Once" is not allowed',
    );
  });

  it('are known, and not those that the server sets', () => {
    expect(refusal(volumes, { sise: '1Gi' })).to.contain('sise: is not a field');
    expect(refusal(volumes, { handle: 'h' })).to.contain('handle: is set by the server; omit it');
  });
});
