import { jsonReply, type Reply } from '../core/wire.js';

/** A refusal of the provider: its code and its message. */
interface RefusalForm {
  /** The HTTP status. Drivers must not depend on it, because the definition has no statuses. */
  readonly status: number;
  readonly code: string;
  readonly message: string;
  /** The origin of the code; absent for a code that was chosen for this emulator. */
  readonly source?: string;
}

const codes = 'hetznercloud/hcloud-go, the list of error codes';

/** Every refusal of this emulator. */
export const refusals = {
  unauthorized: {
    ...{ status: 401, code: 'unauthorized', source: codes },
    message: 'unable to authenticate',
  },
  readOnly: {
    ...{ status: 403, code: 'token_readonly', source: codes },
    message: 'the token is only allowed to perform GET requests',
  },
  notFound: { status: 404, code: 'not_found', message: 'resource not found', source: codes },
  rateLimited: {
    ...{ status: 429, code: 'rate_limit_exceeded', source: codes },
    message: 'limit of 3600 requests per hour reached',
  },
  serverError: {
    ...{ status: 500, code: 'server_error', source: codes },
    message: 'error within the server',
  },
  badJson: {
    ...{ status: 400, code: 'json_error', source: codes },
    message: 'invalid JSON input in your request',
  },
  badInput: {
    ...{ status: 422, code: 'invalid_input', source: codes },
    message: 'invalid input',
  },
  nameTaken: {
    ...{ status: 409, code: 'uniqueness_error', source: codes },
    message: 'volume name is already used',
  },
  volumeLimit: {
    ...{ status: 403, code: 'resource_limit_exceeded', source: codes },
    message: 'volume limit exceeded',
  },
  attachLimit: {
    ...{ status: 403, code: 'resource_limit_exceeded', source: codes },
    message: 'volume limit of the server exceeded',
  },
  noSpace: {
    ...{ status: 412, code: 'no_space_left_in_location', source: codes },
    message: 'there is no volume space left in the given location',
  },
  alreadyAttached: {
    ...{ status: 409, code: 'volume_already_attached', source: codes },
    message: 'volume is already attached to a server, detach first',
  },
  serverLocked: {
    ...{ status: 423, code: 'locked', source: 'hetznercloud/csi-driver#418' },
    message: 'server is locked',
  },
  volumeLocked: {
    ...{ status: 423, code: 'locked', source: codes },
    message: 'volume is locked',
  },
  protected: {
    ...{ status: 423, code: 'protected', source: codes },
    message: 'volume is protected from deletion',
  },
  notAttached: {
    ...{ status: 409, code: 'conflict' },
    message: 'volume is not attached to a server',
  },
  attachedDelete: {
    ...{ status: 409, code: 'conflict' },
    message: 'volume is still attached to a server',
  },
  otherLocation: {
    ...{ status: 422, code: 'invalid_input' },
    message: 'server and volume must be in the same location',
  },
} as const satisfies Readonly<Record<string, RefusalForm>>;

export type RefusalName = keyof typeof refusals;

/** The refusal of a request. The state and the routes throw it. */
export class Refusal extends Error {
  readonly refusal: RefusalName;
  /** The wrong field of an invalid input. */
  readonly field: string | undefined;

  constructor(refusal: RefusalName, field?: string) {
    super(refusals[refusal].message);
    this.refusal = refusal;
    this.field = field;
  }
}

/** Returns the answer of a refusal. Its details name the field, if there is one. */
export function refusalReply(
  name: RefusalName,
  field?: string,
  headers?: Readonly<Record<string, string>>,
): Reply {
  const { status, code, message } = refusals[name];
  if (field === undefined) return jsonReply(status, { error: { code, message } }, headers);
  const details = { fields: [{ name: field, messages: [`${field} is invalid`] }] };
  const error = { code, message: `invalid input in field '${field}'`, details };
  return jsonReply(status, { error }, headers);
}
