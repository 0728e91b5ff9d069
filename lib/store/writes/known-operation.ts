import { type FieldViolation, invalid } from '../../base/index.js';
import type { Operation } from '../contract/operations.js';

/** The subject of an operation: an object, a key, or a kind. */
const subjects = {
  create: 'object',
  update: 'object',
  overwrite: 'object',
  updateStatus: 'key',
  delete: 'key',
  deleteByName: 'key',
  check: 'key',
  checkKind: 'kind',
} as const satisfies Readonly<Record<Operation['op'], 'object' | 'key' | 'kind'>>;

type Given = Readonly<Record<string, unknown>>;

function isObject(value: unknown): value is Given {
  return typeof value === 'object' && value !== null;
}

function shown(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : typeof value;
}

function problem(operation: unknown): FieldViolation | undefined {
  if (!isObject(operation))
    return { field: '', description: `is ${shown(operation)}; give an operation` };
  const { op, kind } = operation;
  if (typeof op !== 'string' || !Object.hasOwn(subjects, op)) {
    const description = `is ${shown(op)}; give one of ${Object.keys(subjects).join(', ')}`;
    return { field: '.op', description };
  }
  if (!isObject(kind) || typeof kind['kind'] !== 'string')
    return {
      field: '.kind',
      description: `is ${shown(kind)}; give what defineKind or declareKind returns`,
    };
  const subject = subjects[op as Operation['op']];
  if (subject === 'kind' || isObject(operation[subject])) return undefined;
  return {
    field: `.${subject}`,
    description: `is ${shown(operation[subject])}; "${op}" needs ${subject === 'key' ? 'the key of an object' : 'the object'}`,
  };
}

/**
 * Refuses an invalid operation, for callers that bypass the types.
 * @param at its index in the transaction
 * @throws StatusError InvalidArgument that names the field, its value and the expected value
 */
export function requireKnownOperation(operation: Operation, at: number): void {
  const found = problem(operation);
  if (found) throw invalid([{ ...found, field: `operations[${at}]${found.field}` }]);
}

/**
 * Checks the operations of a transaction, for callers that bypass the types.
 * @throws StatusError InvalidArgument unless it is a list of valid operations
 */
export function requireKnownOperations(operations: readonly Operation[]): void {
  const given: unknown = operations;
  if (!Array.isArray(given))
    throw invalid([{ field: 'operations', description: `is ${shown(given)}; give a list` }]);
  // Not forEach, which would skip holes.
  for (let at = 0; at < given.length; at += 1) requireKnownOperation(given[at] as Operation, at);
}
