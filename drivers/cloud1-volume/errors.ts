import { parameterToSet } from '@kedge/driver-sdk/messages';
import type { ErrorRow } from '@kedge/driver-sdk/provider';

/** Maximum number of volumes of one Droplet. */
export const attachLimit = 15;

/** Delay until a call is repeated after a refusal because another action is running, milliseconds. */
const busyMs = 2_000;

const error = (status: number, code: string, message: string): ErrorRow['example'] => ({
  status,
  code,
  message,
});

/**
 * The refusals of DigitalOcean; the first matching row decides. The OpenAPI definition of DigitalOcean has only the
 * statuses 400, 401, 404, 429 and 500 for volumes. The texts of other statuses are from reports of users. 403 for a
 * quota precedes 403 for a missing scope.
 */
export const cloud1Errors: readonly ErrorRow[] = [
  {
    status: [429],
    kind: 'Throttled',
    source: 'docs.digitalocean.com/reference/api, Rate Limit',
    example: error(429, 'too_many_requests', 'API Rate limit exceeded.'),
  },
  {
    message: /cannot attach more|maximum (number|amount) of volumes|too many volumes/i,
    kind: 'QuotaExceeded',
    limit: attachLimit,
    retryElsewhere: true,
    remedy: `a Droplet has at most ${attachLimit} volumes: move workloads to another node`,
    source: 'digitalocean/csi-digitalocean driver/controller.go; digitalocean/openapi#902',
    example: error(422, 'unprocessable_entity', 'cannot attach more volumes to the Droplet'),
  },
  {
    status: [403, 422],
    message: /capacity limit|limit (was |has been |is )?(exceeded|reached)|quota/i,
    kind: 'QuotaExceeded',
    remedy: 'request a higher volume limit of the DigitalOcean team, or delete unused volumes',
    source: 'digitalocean/csi-digitalocean driver/controller.go (403 for the volume limit)',
    example: error(
      403,
      'forbidden',
      'failed to create volume: volume/snapshot capacity limit exceeded',
    ),
  },
  {
    status: [401, 403],
    kind: 'CredentialsRejected',
    source: 'digitalocean/openapi: responses unauthorized and forbidden',
    example: error(403, 'forbidden', 'You do not have access for the attempted action.'),
  },
  {
    message: /pending event|event.* pending|currently (being )?(attached|detached|resized)/i,
    kind: 'Throttled',
    retryAfterMs: busyMs,
    source: 'digitalocean/csi-digitalocean#32',
    example: error(422, 'unprocessable_entity', 'Droplet already has a pending event.'),
  },
  {
    message: /attached volume cannot be deleted|is (still )?attached|already attached/i,
    kind: 'InUse',
    source: 'digitalocean/doctl#358; digitalocean/csi-digitalocean#61',
    example: error(409, 'conflict', 'attached volume cannot be deleted'),
  },
  {
    message: /(different|same|another|not in the) region/i,
    kind: 'InvalidParameters',
    remedy:
      'a volume attaches only to Droplets of its region: use a storage class of the region of the node, or allowedTopologies',
    source: 'docs.digitalocean.com/products/volumes, limits',
    example: error(422, 'unprocessable_entity', 'volume and droplet are in a different region'),
  },
  {
    status: [409, 422],
    message: /already (exists|in use|been taken)|must be unique|duplicate/i,
    kind: 'AlreadyExists',
    source: 'hashicorp/terraform#8023',
    example: error(409, 'conflict', 'volume with the name already exists'),
  },
  {
    message: /attachment not found|not attached/i,
    kind: 'NotFound',
    source: 'digitalocean/csi-digitalocean driver/controller.go',
    example: error(422, 'unprocessable_entity', 'Attachment not found'),
  },
  {
    // DigitalOcean always sends an id: this is the answer of a proxy, and does not mean that the volume is gone.
    status: [404, 410],
    code: [''],
    kind: 'Unavailable',
    remedy:
      'this is no answer of DigitalOcean: check the endpoint of [drivers.cloud1-volume] and proxies',
    source: 'digitalocean/openapi: response not_found has an id',
    example: error(404, '', ''),
  },
  {
    status: [404],
    kind: 'NotFound',
    source: 'digitalocean/openapi: response not_found',
    example: error(404, 'not_found', 'The resource you requested could not be found.'),
  },
  {
    status: [400, 422],
    message: /invalid region|region .*(invalid|not found|does not exist)/i,
    kind: 'InvalidParameters',
    remedy: `${parameterToSet.format({ key: 'region' })}the slug of a region with volumes, such as fra1`,
    source: 'unproven: the words for a region that does not exist',
    example: error(422, 'unprocessable_entity', 'invalid region'),
  },
  {
    status: [400, 422],
    kind: 'InvalidParameters',
    source: 'digitalocean/openapi: response bad_request',
    example: error(400, 'bad_request', 'size_gigabytes is invalid'),
  },
  {
    status: [500, 502, 503, 504],
    kind: 'Unavailable',
    source: 'digitalocean/openapi: response server_error',
    example: error(500, 'server_error', 'Unexpected server-side error'),
  },
];
