import { expect } from 'chai';
import fc from 'fast-check';
import { StatusError } from '../base/index.js';
import {
  formatCursor,
  parseCursor,
  requireObjectVersion,
  requireRevision,
  revisionIn,
} from './index.js';

const storeId = '6f6b2a3e-1d0c-4f5a-9b7e-2c1d0e9f8a7b';

function refusal(work: () => unknown): StatusError {
  try {
    work();
  } catch (error) {
    if (error instanceof StatusError) return error;
  }
  throw new Error('it was not refused with a StatusError');
}

describe('watch cursors', () => {
  it('contain a revision and the id of its store, and are parsed back unchanged', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.uuid(), (revision, id) => {
        const text = formatCursor(revision, id);
        expect(parseCursor(text)).to.deep.equal({ revision, storeId: id });
        expect(revisionIn(id, text)).to.equal(revision);
      }),
    );
  });

  it('that are a bare decimal refer to the receiving store', () => {
    expect(parseCursor('42')).to.deep.equal({ revision: 42, storeId: undefined });
    expect(revisionIn(storeId, '42')).to.equal(42);
  });

  it('of another store are OutOfRange, reason OtherStore', () => {
    const error = refusal(() => revisionIn(storeId, formatCursor(42, 'other')));
    expect([error.code, error.reason]).to.deep.equal(['OutOfRange', 'OtherStore']);
  });

  it('of neither form are InvalidArgument, reason InvalidCursor, with the field and the value', () => {
    const bad = ['', 'x', '-1', '1e3', ' 1', '1.', '.x', '1.a.b', '1.a b', '9007199254740993'];
    for (const text of bad) {
      const error = refusal(() => parseCursor(text));
      expect([error.code, error.reason], text).to.deep.equal(['InvalidArgument', 'InvalidCursor']);
      expect(error.violations.map(({ field }) => field)).to.deep.equal(['resourceVersion']);
      expect(error.message).to.contain(JSON.stringify(text));
    }
    fc.assert(
      fc.property(fc.string(), (text) => {
        fc.pre(!/^\d{1,16}(\.[\w-]{1,64})?$/.test(text));
        expect(refusal(() => parseCursor(text)).reason).to.equal('InvalidCursor');
      }),
    );
  });

  it('that are numbers must be whole, 0 or more; a watch from a string or NaN would wait forever', () => {
    for (const revision of [0, 42, Number.MAX_SAFE_INTEGER])
      expect(requireRevision(revision)).to.equal(revision);
    // As JavaScript programs may pass it.
    const texts = ['42', formatCursor(42, storeId), undefined] as unknown as number[];
    for (const revision of [NaN, Infinity, -1, 1.5, ...texts]) {
      const error = refusal(() => requireRevision(revision));
      expect([error.code, error.reason]).to.deep.equal(['InvalidArgument', 'InvalidCursor']);
      expect(error.violations.map(({ field }) => field)).to.deep.equal(['fromRevision']);
    }
  });

  it("are refused in place of an object's own version, with the remedy", () => {
    const error = refusal(() => requireObjectVersion(formatCursor(42, storeId)));
    expect(error.code).to.equal('InvalidArgument');
    expect(error.message).to.contain('watch cursor').and.to.contain('metadata.resourceVersion');
    for (const version of ['42', '', 'x']) expect(requireObjectVersion(version)).to.equal(version);
  });
});
