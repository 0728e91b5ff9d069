import { DriverError } from '@kedge/driver-sdk';
import { parameterToSet } from '@kedge/driver-sdk/messages';
import { type ErrorRow, kindByStatus, type Refusal, rowOf } from '@kedge/driver-sdk/provider';

/** Maximum number of disks of one instance, without its boot disk. Instances with a shared core have 15. */
export const attachLimit = 127;

/** Delay until a call is repeated after a refusal because other operations are running, milliseconds. */
const busyMs = 2_000;
/** Delay until a call is repeated after a refusal by a rate limit: a project recovers its rate within a minute. */
const rateMs = 10_000;

const error = (status: number, code: string, message: string): ErrorRow['example'] => ({
  status,
  code,
  message,
});

/** Reasons in the body of a refused request, and codes of a failed operation, that mean the same. */
const inUse = [
  'resourceInUseByAnotherResource',
  'resourceInUse',
  'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE',
  'RESOURCE_IN_USE',
];
const quota = ['quotaExceeded', 'QUOTA_EXCEEDED', 'limitExceeded', 'LIMIT_EXCEEDED'];
const exhausted = [
  'ZONE_RESOURCE_POOL_EXHAUSTED',
  'ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS',
  'stockout',
  'resourcePoolExhausted',
];
const unfit = ['invalid', 'badRequest', 'required', 'invalidParameter', 'INVALID_ARGUMENT'];

const absentProject = /failed to find project|'projects\/[^/']+' was not found/i;

/** Whether a call failed because its project does not exist. */
export function isProjectMissing({ kind, message }: DriverError): boolean {
  return kind === 'NotFound' && absentProject.test(message);
}

/**
 * The refusals of Compute Engine, of requests and of operations; the first matching row decides. 403 for a rate or a
 * quota precedes 403 for a permission. An answer without a code is not from Compute Engine: only the rows of status 429
 * and of the empty code match it, so that its 404 does not mean that a disk is gone.
 */
export const cloud4Errors: readonly ErrorRow[] = [
  {
    message: /too many pending operations/i,
    code: ['rateLimitExceeded', 'RATE_LIMIT_EXCEEDED', 'RESOURCE_OPERATION_RATE_EXCEEDED'],
    kind: 'Throttled',
    retryAfterMs: busyMs,
    source: 'kubernetes-sigs/gcp-compute-persistent-disk-csi-driver#1129',
    example: error(403, 'rateLimitExceeded', 'Too many pending operations on a resource.'),
  },
  {
    code: ['RESOURCE_OPERATION_RATE_EXCEEDED', 'resourceOperationRateExceeded'],
    kind: 'Throttled',
    retryAfterMs: rateMs,
    source: 'unproven: a code of operations, seen in no publication',
    example: error(0, 'RESOURCE_OPERATION_RATE_EXCEEDED', 'Operation rate exceeded for resource'),
  },
  {
    code: ['rateLimitExceeded', 'userRateLimitExceeded', 'RATE_LIMIT_EXCEEDED'],
    kind: 'Throttled',
    retryAfterMs: rateMs,
    rateLimit: true,
    source: 'hail-is/hail#10434, #10432 (403 Rate Limit Exceeded)',
    example: error(403, 'rateLimitExceeded', 'Rate Limit Exceeded'),
  },
  {
    status: [429],
    kind: 'Throttled',
    retryAfterMs: rateMs,
    rateLimit: true,
    source: 'unproven: google.rpc.Code RESOURCE_EXHAUSTED has status 429',
    example: error(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded for quota metric Queries'),
  },
  {
    message: /maximum .*(disks?|attachments?)|disks? .*(limit|maximum)|attach(ed|ing)? .*limit/i,
    code: [...quota, ...unfit, 'UNSUPPORTED_OPERATION', 'unsupportedOperation'],
    kind: 'QuotaExceeded',
    limit: attachLimit,
    retryElsewhere: true,
    remedy: `an instance has at most ${attachLimit} disks besides its boot disk, or 15 with a shared core: move workloads to another node`,
    source: 'kubernetes-sigs/gcp-compute-persistent-disk-csi-driver#1819',
    example: error(
      400,
      'UNSUPPORTED_OPERATION',
      'Maximum persistent disks count should be less than or equal to [128], Requested : [129]',
    ),
  },
  {
    code: exhausted,
    kind: 'QuotaExceeded',
    retryElsewhere: true,
    remedy: 'the zone has no capacity now: wait, or use a class of another zone',
    source: 'GoogleCloudPlatform/ai-on-gke#849',
    example: error(
      503,
      'ZONE_RESOURCE_POOL_EXHAUSTED',
      "The zone 'projects/p/zones/z' does not have enough resources available to fulfill the request.",
    ),
  },
  {
    code: quota,
    kind: 'QuotaExceeded',
    remedy: 'request a higher quota for the project, or delete unused disks and snapshots',
    source: 'openshift-evangelists/openshifter#15',
    example: error(403, 'quotaExceeded', "Quota 'SSD_TOTAL_GB' exceeded. Limit: 500.0"),
  },
  {
    message: /has not been used in project|it is disabled|billing/i,
    code: ['accessNotConfigured', 'SERVICE_DISABLED', 'forbidden', 'PERMISSION_DENIED'],
    kind: 'PermissionDenied',
    remedy: 'enable the Compute Engine API and billing for the project',
    source: 'hashicorp/terraform#19912',
    example: error(
      403,
      'accessNotConfigured',
      'Compute Engine API has not been used in project 1 before or it is disabled.',
    ),
  },
  {
    status: [401],
    code: ['authError', 'required', 'UNAUTHENTICATED'],
    kind: 'CredentialsRejected',
    source: 'unproven: google.rpc.Code UNAUTHENTICATED has status 401',
    example: error(401, 'authError', 'Request had invalid authentication credentials.'),
  },
  {
    status: [403],
    code: ['forbidden', 'insufficientPermissions', 'PERMISSION_DENIED', 'PERMISSIONS_ERROR'],
    kind: 'CredentialsRejected',
    remedy: 'grant the permission to the service account: the call is repeated',
    source: 'alexandarp/terraform-gke#2; udacity/devops-intro-project#77',
    example: error(403, 'forbidden', "Required 'compute.disks.create' permission for 'disks/d'"),
  },
  {
    code: ['alreadyExists', 'RESOURCE_ALREADY_EXISTS', 'ALREADY_EXISTS', 'duplicate'],
    kind: 'AlreadyExists',
    source: 'fog/fog-google#467; hashicorp/terraform#7998',
    example: error(409, 'alreadyExists', "The resource 'disks/d' already exists"),
  },
  {
    code: inUse,
    kind: 'InUse',
    source: 'hashicorp/terraform#23698; openshift/release#7550',
    example: error(
      400,
      'resourceInUseByAnotherResource',
      "The disk resource 'disks/d' is already being used by 'instances/i'",
    ),
  },
  {
    message: /no attached disk|not attached|is not attached|could not find disk/i,
    code: [...unfit, 'notFound'],
    kind: 'NotFound',
    source: 'GoogleCloudPlatform/google-cloud-powershell#410',
    example: error(400, 'invalid', "No attached disk found with device name 'd'"),
  },
  {
    message: absentProject,
    code: ['notFound', 'RESOURCE_NOT_FOUND', 'NOT_FOUND'],
    kind: 'NotFound',
    remedy: `${parameterToSet.format({ key: 'project' })}the id of a project that exists`,
    source: 'unproven: the words for a project that does not exist',
    example: error(404, 'notFound', 'Failed to find project my-project'),
  },
  {
    code: ['notFound', 'RESOURCE_NOT_FOUND', 'NOT_FOUND'],
    kind: 'NotFound',
    source: 'unproven: the reason notFound of Google interfaces',
    example: error(404, 'notFound', "The resource 'disks/d' was not found"),
  },
  {
    code: ['resourceNotReady', 'RESOURCE_NOT_READY', 'conditionNotMet', 'CONDITION_NOT_MET'],
    kind: 'Throttled',
    retryAfterMs: busyMs,
    source: 'unproven: a reason that clients of Compute Engine repeat calls for',
    example: error(400, 'resourceNotReady', "The resource 'disks/d' is not ready"),
  },
  {
    message: /unknown zone|invalid value for field '(resource\.)?zone'/i,
    code: unfit,
    kind: 'InvalidParameters',
    remedy: `${parameterToSet.format({ key: 'zone' })}a zone of Compute Engine, such as europe-west3-a`,
    source: 'unproven: the words for a zone that does not exist',
    example: error(400, 'invalid', "Invalid value for field 'zone': 'x'. Unknown zone."),
  },
  {
    code: [...unfit, 'UNSUPPORTED_OPERATION', 'unsupportedOperation', 'invalidResourceUsage'],
    kind: 'InvalidParameters',
    source: 'google/cloud-forensics-utils#530 (badRequest); litmuschaos/chaos-charts#562',
    example: error(400, 'invalid', "Invalid value for field 'resource.sizeGb': '0'"),
  },
  {
    code: ['backendError', 'internalError', 'INTERNAL_ERROR', 'UNAVAILABLE', 'INTERNAL'],
    kind: 'Unavailable',
    source: 'unproven: the reason of status 5xx of Google interfaces',
    example: error(503, 'backendError', 'Backend Error'),
  },
  {
    code: [''],
    kind: 'Unavailable',
    remedy:
      'this is no answer of Compute Engine: check the endpoint of [drivers.cloud4-disk] and proxies',
    source: 'travis-ci/terraform-config#21 (404 without a JSON body)',
    example: error(404, '', 'Error 404 (Not Found)'),
  },
];

/** The text of an HTML page without its tags, for messages. */
function wordsOf(html: string): string {
  const text = html
    .replaceAll(/<(style|script)[^]*?<\/\1>/gi, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll(/\s+/g, ' ');
  return text.trim().slice(0, 200);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/**
 * Reads the refusal in the body of an error: its first reason, else its status; without JSON, the words of the page.
 */
export function refusalOf(status: number, body: unknown, text: string): Refusal {
  const { error: failure } = (body ?? {}) as { readonly error?: unknown };
  if (typeof failure !== 'object' || failure === null)
    return { status, code: '', message: wordsOf(text) };
  const { errors, message, status: name } = failure as Readonly<Record<string, unknown>>;
  const [first] = Array.isArray(errors) ? (errors as readonly unknown[]) : [];
  const { reason } = (first ?? {}) as { readonly reason?: unknown };
  const code = textOf(reason) === '' ? textOf(name) : textOf(reason);
  return { status, code: code === '' ? 'unknown' : code, message: textOf(message) };
}

/** The error of an operation that has ended with a failure. */
export function operationError(refusal: Refusal, operation: string): DriverError {
  const row = rowOf(cloud4Errors, refusal);
  const { code, status } = refusal;
  const words = refusal.message === '' ? 'no message' : refusal.message;
  const failed = `Google Cloud ended operation ${operation} with an error: ${words} (${code})`;
  const { remedy, retryAfterMs, limit, retryElsewhere } = row ?? {};
  // A code of no row: the status of the failure, if it has one.
  const kind = row?.kind ?? (status === 0 ? 'Unavailable' : kindByStatus(status));
  return new DriverError(kind, remedy === undefined ? failed : `${failed}; ${remedy}`, {
    ...(remedy === undefined ? {} : { remedy }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(limit === undefined ? {} : { limit }),
    ...(retryElsewhere === undefined ? {} : { retryElsewhere }),
  });
}
