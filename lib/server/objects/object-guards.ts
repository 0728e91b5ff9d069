import { differs, StatusError } from '../../base/index.js';
import { type ApiObject, jsonEqual, valueAt } from '../../object/index.js';
import type { Precondition } from '../../store/index.js';
// The store uses this check too, so that both refuse the same requests.
import { requireState } from '../../store/writes/preconditions.js';
import type { AccessControl } from '../auth/index.js';
import type { CallContext } from '../api/call.js';
import { requireStored } from '../admission/expected-object.js';
import type { GivenObjectOperation } from './object-operations.js';
import type { Resources } from './resources.js';
import type { WritePlanner } from '../admission/write-planner.js';

/** Options of guard checks. */
export interface GuardOptions {
  readonly authorizer: AccessControl;
  readonly planner: WritePlanner;
  readonly resources: Resources;
}

/**
 * Checks the guard of an operation against its object. Values are compared in the form of the API. A hidden value can't
 * be compared without the right to read it: the outcome would disclose it.
 * @returns the stored values that the commit must compare again
 * @throws StatusError Aborted (Conflict), PermissionDenied, InvalidArgument for a field that can't be compared
 */
export async function checkGuard(
  options: GuardOptions,
  context: CallContext,
  given: GivenObjectOperation,
  object: ApiObject,
): Promise<Precondition> {
  const { served, precondition } = given;
  const { generation, notDeleting, fields } = precondition;
  requireStored(served.kind, object, precondition);
  const required: Precondition = {
    ...(generation > 0 ? { generation } : {}),
    ...(notDeleting ? { deleting: false } : {}),
  };
  const resource = { kind: served.kind.kind, ...given.key };
  requireState(resource, object, required);
  if (fields.size === 0) return required;
  await options.planner.requireAccess(context, served.kind.plural, 'get', object);
  const shown = options.resources.show(served, object);
  const revealed = options.resources.show(served, object, true);
  const masked = [...fields.keys()].filter(
    (path) => !jsonEqual(valueAt(shown, path), valueAt(revealed, path)),
  );
  if (masked.length > 0) {
    await requireReveal(options, context, given, object, masked);
    const masks = masked.filter((path) => jsonEqual(fields.get(path), valueAt(shown, path)));
    if (masks.length > 0) throw comparesMask(masks);
  }
  const changed = [...fields.keys()].filter(
    (path) => !jsonEqual(valueAt(revealed, path), fields.get(path)),
  );
  if (changed.length > 0)
    throw differs(resource, `the stored values differ in ${changed.join(', ')}`);
  const stored = [...fields.keys()].map((path) => [path, valueAt(object, path)] as const);
  return { ...required, fields: Object.fromEntries(stored) };
}

async function requireReveal(
  { authorizer, planner }: GuardOptions,
  context: CallContext,
  { served, namespace }: GivenObjectOperation,
  object: ApiObject,
  paths: readonly string[],
): Promise<void> {
  const { plural } = served.kind;
  const access = { resource: plural, verb: 'reveal', namespace };
  try {
    await authorizer.require(context.identity, access);
    await planner.requireAccess(context, plural, 'reveal', object);
  } catch (cause) {
    const error = StatusError.from(cause);
    const { code, reason } = error;
    const message = `${error.message}; ${paths.join(', ')} can't be compared without it`;
    throw new StatusError({ code, reason, message, cause });
  }
}

function comparesMask(paths: readonly string[]): StatusError {
  return new StatusError({
    code: 'InvalidArgument',
    reason: 'ValidationFailed',
    message: `precondition.fields: the value given for ${paths.join(', ')} is the mask, which can't be compared; read the object with its values (reveal)`,
  });
}
