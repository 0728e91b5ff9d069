import type { Access } from '../auth/index.js';
import type { GivenObjectOperation } from './object-operations.js';

/** The right that an operation needs, before validation. */
export function accessOf(given: GivenObjectOperation): Access {
  const { type, served, namespace, finalizersOnly } = given;
  const { plural } = served.kind;
  const where = namespace === '-' ? '*' : namespace;
  // Such a replacement can change only finalizers, which need the right to finalizers.
  if (finalizersOnly) return { resource: plural, verb: 'get', namespace: where };
  switch (type) {
    case 'CREATE':
      return { resource: plural, verb: 'create', namespace: where };
    case 'UPDATE':
    case 'OVERWRITE':
      return { resource: plural, verb: 'update', namespace: where };
    case 'UPDATE_STATUS':
      return { resource: `${plural}/status`, verb: 'update', namespace: where };
    case 'DELETE':
    case 'DELETE_BY_NAME':
      return { resource: plural, verb: 'delete', namespace: where };
    case 'CHECK':
      return { resource: plural, verb: 'get', namespace: where };
  }
}

/** The right to read the object of an operation. */
export function reading({ served }: GivenObjectOperation): Pick<Access, 'resource' | 'verb'> {
  return { resource: served.kind.plural, verb: 'get' };
}
