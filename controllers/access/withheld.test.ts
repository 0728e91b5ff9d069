import { expect } from 'chai';
import type { Condition } from 'kedge';
import type { Snapshot, SnapshotPhase } from '../snapshot/kind.js';
import type { Volume, VolumePhase } from '../volume/kind.js';
import { withheldOfSnapshot, withheldOfVolume } from './withheld.js';

const metadata = {
  uid: 'u',
  resourceVersion: '1',
  generation: 1,
  createdAt: '',
  updatedAt: '',
};
const deleting = { ...metadata, deletionRequestedAt: '2026-01-01T00:00:00Z' };

function condition(type: string, status: Condition['status']): Condition {
  return { type, status, reason: 'R', message: '', lastTransitionAt: '' };
}

/** Returns the changed fields of a volume that its node may not write. */
function ofVolume(before: Partial<Volume>, after: Partial<Volume>, owned = true): string[] {
  const known = { namespace: 'default', name: 'v', metadata, ...before } as Volume;
  const write = { node: 'n', before: known, after: { ...known, ...after } };
  const found = withheldOfVolume(write, { owned, isClaimHere: () => true });
  return found.map(({ field }) => field);
}

function ofSnapshot(before: Partial<Snapshot>, after: Partial<Snapshot>, owned = true): string[] {
  const known = { namespace: 'default', name: 's', metadata, ...before } as Snapshot;
  return withheldOfSnapshot(known, { ...known, ...after }, owned).map(({ field }) => field);
}

describe('a status write of a node for a volume whose data is on it', () => {
  const ends: readonly (readonly [VolumePhase, VolumePhase])[] = [
    ['Provisioning', 'Available'],
    ['Provisioning', 'Failed'],
    ['Provisioning', 'Stalled'],
    ['Stalled', 'Provisioning'],
    ['Bound', 'Failed'],
    ['Failed', 'Available'],
    ['Released', 'Failed'],
  ];
  for (const [before, after] of ends)
    it(`may report the end of a call: ${before} to ${after}, and not for a volume elsewhere`, () => {
      expect(ofVolume({ status: before }, { status: after })).to.deep.equal([]);
      expect(ofVolume({ status: before }, { status: after }, false)).to.deep.equal(['status']);
    });

  const decisions: readonly (readonly [VolumePhase, VolumePhase])[] = [
    ['Pending', 'Provisioning'],
    ['Pending', 'Available'],
    ['Pending', 'Failed'],
    ['Failed', 'Provisioning'],
    ['Released', 'Available'],
    ['Available', 'Released'],
  ];
  for (const [before, after] of decisions)
    it(`may not make a decision of the controller: ${before} to ${after}`, () => {
      expect(ofVolume({ status: before }, { status: after })).to.deep.equal(['status']);
    });

  it('may contain the created resource, and no field that determines rights', () => {
    expect(ofVolume({}, { handle: 'h', sizeBytes: '1', attempts: 1, reason: 'R' })).to.deep.equal(
      [],
    );
    const captured = {
      ...{ driver: 'd', driverParameters: { a: 'secret:x/y' }, ownParameters: ['a'] },
      topology: { a: 'b' },
    };
    expect(ofVolume({}, captured)).to.have.members(Object.keys(captured));
    expect(ofVolume({}, { handle: 'h', attempts: 1 }, false)).to.have.members([
      'handle',
      'attempts',
    ]);
  });

  it('may contain a condition of another writer as the node read it, with generation 0 for an absent one', () => {
    const stored = condition('Resizing', 'False');
    const read = { ...stored, observedGeneration: 0 };
    const grown = condition('FileSystemResizePending', 'False');
    expect(ofVolume({ conditions: [stored] }, { conditions: [read, grown] }, false)).to.deep.equal(
      [],
    );
    const changed = { ...stored, observedGeneration: 1 };
    expect(ofVolume({ conditions: [stored] }, { conditions: [changed] }, false)).to.deep.equal([
      'conditions',
    ]);
  });

  it('may report that the data is deleted only after a request', () => {
    const done = { conditions: [condition('Deleted', 'True')] };
    const asked = { dataDeletion: { askedAt: '2026-01-01T00:00:00Z', generation: 1 } };
    expect(ofVolume({ ...asked, metadata: deleting }, done)).to.deep.equal([]);
    expect(ofVolume({ ...asked, metadata: deleting }, done, false)).to.deep.equal(['conditions']);
    expect(ofVolume(asked, done), 'not deleting').to.deep.equal(['conditions']);
    const changed = { ...deleting, generation: 2 };
    expect(ofVolume({ ...asked, metadata: changed }, done), 'changed').to.deep.equal([
      'conditions',
    ]);
    const waits = { conditions: [condition('Deleted', 'False')], metadata: deleting };
    expect(ofVolume(waits, done), 'reported without a request').to.deep.equal(['conditions']);
    expect(ofVolume({}, asked), 'asks itself').to.deep.equal(['dataDeletion']);
    expect(ofSnapshot({ status: 'Deleting', metadata: deleting }, done)).to.deep.equal([]);
    expect(ofSnapshot({ ...waits, status: 'Ready' }, done)).to.deep.equal(['conditions']);
  });
});

describe('a status write of a node for a snapshot that is on it', () => {
  const phases: readonly SnapshotPhase[] = ['Pending', 'Creating', 'Ready', 'Deleting', 'Failed'];
  const ends = ['Creating Ready', 'Creating Failed', 'Ready Failed'];
  it('may report the end of a copy, and its loss', () => {
    for (const before of phases)
      for (const after of phases) {
        const isEnd = before === after || ends.includes(`${before} ${after}`);
        const found = ofSnapshot({ status: before }, { status: after });
        expect(found, `${before} to ${after}`).to.deep.equal(isEnd ? [] : ['status']);
      }
  });

  it('may contain the created resource, and no field that determines rights', () => {
    const made = { handle: 'h', restoreSize: '1', readyAt: 'now' };
    expect(ofSnapshot({}, made)).to.deep.equal([]);
    expect(ofSnapshot({}, made, false)).to.have.members(Object.keys(made));
    const kept = {
      driverParameters: { a: 'secret:x/y' },
      topology: { a: 'b' },
      restoresInFlight: ['u'],
      ...{ sourceUid: 'u', ownParameters: ['a'] },
    };
    expect(ofSnapshot({}, kept)).to.have.members(Object.keys(kept));
  });
});
