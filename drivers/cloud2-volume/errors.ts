import { parameterToSet } from '@kedge/driver-sdk/messages';
import type { ErrorRow } from '@kedge/driver-sdk/provider';

/** Maximum number of volumes of one server. */
export const attachLimit = 16;

/** Delay until a call is repeated after a refusal because another action is running, milliseconds. */
const busyMs = 2_000;

const error = (status: number, code: string, message: string): ErrorRow['example'] => ({
  status,
  code,
  message,
});

/**
 * The refusals of Hetzner Cloud by `error.code` and message; the first matching row decides. Rows with a code have no
 * status, because statuses are not documented for all codes.
 */
export const cloud2Errors: readonly ErrorRow[] = [
  {
    code: ['rate_limit_exceeded'],
    kind: 'Throttled',
    source: 'docs.hetzner.cloud, Rate Limiting',
    example: error(429, 'rate_limit_exceeded', 'limit of 3600 requests per hour reached'),
  },
  {
    code: ['resource_limit_exceeded', 'limit_exceeded_error'],
    message: /server|attach/i,
    kind: 'QuotaExceeded',
    limit: attachLimit,
    retryElsewhere: true,
    remedy: `a server has at most ${attachLimit} volumes: move workloads to another node`,
    source: 'hcloud-go ErrorCode; hetznercloud/csi-driver internal/app',
    example: error(422, 'resource_limit_exceeded', 'server already has the maximum of volumes'),
  },
  {
    code: ['resource_limit_exceeded', 'limit_exceeded_error'],
    kind: 'QuotaExceeded',
    remedy: 'request a higher limit for the Hetzner Cloud project, or delete unused volumes',
    source: 'MaximilianKoestler/hcloud-openapi; hcloud-go ErrorCodeResourceLimitExceeded',
    example: error(403, 'resource_limit_exceeded', 'project limit exceeded'),
  },
  {
    code: ['no_space_left_in_location', 'placement_error'],
    kind: 'QuotaExceeded',
    retryElsewhere: true,
    remedy: 'the location has no room now: wait, or use a class of another location',
    source: 'hcloud-go ErrorCodeNoSpaceLeftInLocation',
    example: error(422, 'no_space_left_in_location', 'no volume space left in location'),
  },
  {
    code: ['unauthorized'],
    kind: 'CredentialsRejected',
    source: 'docs.hetzner.cloud, Errors',
    example: error(401, 'unauthorized', 'unable to authenticate'),
  },
  {
    code: ['token_readonly'],
    kind: 'CredentialsRejected',
    remedy: 'use an API token with the permission Read & Write',
    source: 'docs.hetzner.cloud, Errors',
    example: error(403, 'token_readonly', 'the token is only allowed to perform GET requests'),
  },
  {
    code: ['forbidden'],
    kind: 'CredentialsRejected',
    source: 'docs.hetzner.cloud, Errors',
    example: error(403, 'forbidden', 'insufficient permissions for this request'),
  },
  {
    code: ['locked', 'conflict', 'resource_locked'],
    kind: 'Throttled',
    retryAfterMs: busyMs,
    source: 'hetznercloud/csi-driver#48, #418: another action of the server runs',
    example: error(423, 'locked', 'server is locked'),
  },
  {
    code: ['protected'],
    kind: 'PermissionDenied',
    remedy:
      "the volume is protected against deletion: disable the protection in Hetzner's console or with hcloud volume disable-protection",
    source: 'docs.hetzner.cloud, Errors',
    example: error(403, 'protected', 'volume is protected'),
  },
  {
    code: ['uniqueness_error'],
    kind: 'AlreadyExists',
    source: 'docs.hetzner.cloud, Errors',
    example: error(409, 'uniqueness_error', 'volume name is already used'),
  },
  {
    code: ['volume_already_attached'],
    kind: 'InUse',
    source: 'hcloud-go ErrorCodeVolumeAlreadyAttached',
    example: error(422, 'volume_already_attached', 'volume is already attached to a server'),
  },
  {
    code: ['not_found'],
    kind: 'NotFound',
    source: 'docs.hetzner.cloud, Errors',
    example: error(404, 'not_found', 'volume with ID 1 not found'),
  },
  {
    message: /not attached/i,
    kind: 'NotFound',
    source: 'hetznercloud/csi-driver#41',
    example: error(422, 'invalid_input', 'volume is not attached to a server'),
  },
  {
    message: /power.*(off|cycle)|user_action_required/i,
    kind: 'Unavailable',
    remedy: 'power the server off and on: the provider can attach volumes to it only after that',
    source: 'hetznercloud/csi-driver#6, #118',
    example: error(422, 'user_action_required', 'power off and power on the server'),
  },
  {
    message: /attached/i,
    code: ['invalid_input', 'service_error', 'volume_attached'],
    kind: 'InUse',
    source: 'hetznercloud/csi-driver#41',
    example: error(422, 'service_error', 'volume is attached to a server'),
  },
  {
    message: /location/i,
    code: ['invalid_input'],
    kind: 'InvalidParameters',
    remedy: `${parameterToSet.format({ key: 'location' })}the name of a location, such as fsn1, or ${parameterToSet.format({ key: 'region' })}one if the alias is given`,
    source: 'docs.hetzner.cloud, Errors: fields of invalid_input',
    example: error(422, 'invalid_input', "invalid input in field 'location'"),
  },
  {
    code: ['invalid_input', 'json_error', 'unsupported_error', 'deprecated_api_endpoint'],
    kind: 'InvalidParameters',
    source: 'docs.hetzner.cloud, Errors',
    example: error(422, 'invalid_input', 'invalid input in field size'),
  },
  {
    code: ['resource_unavailable', 'maintenance', 'robot_unavailable'],
    kind: 'Unavailable',
    source: 'docs.hetzner.cloud, Errors',
    example: error(503, 'maintenance', 'cannot perform operation due to maintenance'),
  },
  {
    // Hetzner Cloud always sends a code: this is the answer of a proxy, and does not mean that the volume is gone.
    status: [404, 410],
    code: [''],
    kind: 'Unavailable',
    remedy:
      'this is no answer of Hetzner Cloud: check the endpoint of [drivers.cloud2-volume] and proxies',
    source: 'docs.hetzner.cloud, Errors: each error has a code',
    example: error(404, '', ''),
  },
  {
    code: ['service_error', 'server_error', 'bad_gateway', 'timeout', 'unknown_error'],
    kind: 'Unavailable',
    source: 'docs.hetzner.cloud, Errors; hcloud-go ErrorCode',
    example: error(500, 'service_error', 'error within a service'),
  },
];
