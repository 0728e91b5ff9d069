import { jsonReply, type Reply } from '../core/wire.js';

/** A refusal of the provider: its status and its body. */
interface RefusalForm {
  readonly status: number;
  readonly id: string;
  readonly message: string;
  /** The origin of the text; absent for a text that was invented for this emulator. */
  readonly source?: string;
}

const definition = 'digitalocean/openapi specification/shared';

/** Every refusal of this emulator. Texts without a source are guesses, so no driver may depend on them. */
export const refusals = {
  unauthorized: {
    status: 401,
    id: 'Unauthorized',
    message: 'Unable to authenticate you',
    source: 'the body of the live API; the definition has "unauthorized" and a full stop',
  },
  forbidden: {
    status: 403,
    id: 'forbidden',
    message: 'You do not have access for the attempted action.',
    source: `${definition}/description.md`,
  },
  notFound: {
    status: 404,
    id: 'not_found',
    message: 'The resource you were accessing could not be found.',
    source: `${definition}/responses/not_found.yml`,
  },
  tooManyRequests: {
    status: 429,
    id: 'too_many_requests',
    message: 'API Rate limit exceeded.',
    source: `${definition}/description.md`,
  },
  serverError: {
    status: 500,
    id: 'server_error',
    message: 'Unexpected server-side error',
    source: `${definition}/responses/server_error.yml`,
  },
  capacity: {
    status: 403,
    id: 'forbidden',
    message: 'failed to create volume: capacity limit exceeded',
    source: 'digitalocean/csi-digitalocean, the text it compares',
  },
  nameTaken: {
    status: 409,
    id: 'conflict',
    message: 'a volume with this name already exists in this region',
    source: 'hashicorp/terraform#8023: 409 "already exists"',
  },
  attachedDelete: {
    status: 409,
    id: 'conflict',
    message: 'attached volume cannot be deleted',
    source: 'digitalocean/doctl#358',
  },
  pendingEvent: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'Droplet already has a pending event.',
    source: 'StackPointCloud/digitalocean-flex-volume#1',
  },
  alreadyAttached: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'This volume is already attached',
    source: 'digitalocean/csi-digitalocean, the text it compares',
  },
  notAttached: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'Attachment not found',
    source: 'digitalocean/doctl#207',
  },
  attachLimit: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'cannot attach more volumes to the Droplet',
    source: 'digitalocean/csi-digitalocean, the text it compares',
  },
  badBody: { status: 400, id: 'bad_request', message: 'error parsing request body' },
  badPage: { status: 400, id: 'bad_request', message: 'invalid page or per_page' },
  badName: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'name must be lowercase letters, numbers and "-", and begin with a letter',
  },
  badSize: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'volume size must be between 1 and 16384 GiB',
  },
  badRegion: { status: 422, id: 'unprocessable_entity', message: 'invalid region' },
  badAction: { status: 422, id: 'unprocessable_entity', message: 'invalid action' },
  badLabel: { status: 422, id: 'unprocessable_entity', message: 'filesystem label is too long' },
  otherRegion: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'Volume and Droplet must be in the same region',
  },
  noDroplet: { status: 404, id: 'not_found', message: 'Droplet not found' },
  notLarger: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'volume size can only be increased',
  },
  volumeBusy: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'Volume already has a pending event.',
  },
  noSnapshot: { status: 404, id: 'not_found', message: 'snapshot not found' },
  snapshotRegion: {
    status: 422,
    id: 'unprocessable_entity',
    message: 'snapshot is not available in this region',
  },
  snapshotNameTaken: {
    status: 409,
    id: 'conflict',
    message: 'a snapshot with this name already exists',
  },
} as const satisfies Readonly<Record<string, RefusalForm>>;

export type RefusalName = keyof typeof refusals;

/** A request that the provider refuses. */
export class Refusal extends Error {
  readonly refusal: RefusalName;

  constructor(refusal: RefusalName) {
    super(refusals[refusal].message);
    this.refusal = refusal;
  }
}

/** The answer of a refusal. */
export function refusalReply(name: RefusalName, headers?: Readonly<Record<string, string>>): Reply {
  const { status, id, message } = refusals[name];
  return jsonReply(status, { id, message }, headers);
}
