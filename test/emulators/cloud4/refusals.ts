import { jsonReply, type Reply } from '../core/wire.js';

/** A refusal of the provider. `{}` in the message stands for the name of the resource or the field. */
interface RefusalForm {
  readonly status: number;
  readonly reason: string;
  readonly message: string;
  readonly domain?: string;
  /** The canonical name that newer answers have beside the code. */
  readonly canonical?: string;
  /** Where the refusal was seen; absent for one that was chosen for this emulator. */
  readonly source?: string;
}

const errorsPage = 'cloud.google.com/compute/docs, API errors';

/** Every refusal of this emulator. */
export const refusals = {
  noCredentials: {
    ...{ status: 401, reason: 'required', canonical: 'UNAUTHENTICATED', source: errorsPage },
    message: 'Login Required.',
  },
  badCredentials: {
    ...{ status: 401, reason: 'authError', canonical: 'UNAUTHENTICATED', source: errorsPage },
    message:
      'Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.',
  },
  scope: {
    ...{ status: 403, reason: 'insufficientPermissions', canonical: 'PERMISSION_DENIED' },
    message: 'Request had insufficient authentication scopes.',
    source: 'cloudyr/googleComputeEngineR#147, West-Coast-Devops/scheduled-scaler#18',
  },
  forbidden: {
    ...{ status: 403, reason: 'forbidden', source: 'hashicorp/packer#12159' },
    message: "Required '{}' permission for '{}'",
  },
  notFound: {
    ...{ status: 404, reason: 'notFound', source: 'googleapis/nodejs-compute#377' },
    message: "The resource '{}' was not found",
  },
  noProject: { status: 404, reason: 'notFound', message: 'Failed to find project {}' },
  noRoute: { status: 404, reason: 'notFound', message: 'Not Found' },
  exists: {
    ...{ status: 409, reason: 'alreadyExists', source: errorsPage },
    message: "The resource '{}' already exists",
  },
  inUse: {
    ...{ status: 400, reason: 'resourceInUseByAnotherResource' },
    message: "The disk resource '{}' is already being used by '{}'",
    source: 'googleapis/google-api-go-client#960, kubernetes/kubernetes#19953',
  },
  notReady: {
    ...{ status: 400, reason: 'resourceNotReady', source: 'googleapis/google-cloud-java#9312' },
    message: "The resource '{}' is not ready",
  },
  invalid: {
    ...{ status: 400, reason: 'invalid', source: 'hashicorp/terraform-provider-google#8597' },
    message: "Invalid value for field '{}': '{}'. {}",
  },
  invalidParameter: {
    ...{ status: 400, reason: 'invalidParameter', source: 'mcuadros/gce-docker#4' },
    message: "Invalid value '{}'. Values must match the following regular expression: '{}'",
  },
  required: {
    ...{ status: 400, reason: 'required', source: errorsPage },
    message: "Required field '{}' not specified",
  },
  badJson: {
    ...{ status: 400, reason: 'parseError', source: errorsPage },
    message: 'Parse Error',
  },
  noDevice: {
    ...{ status: 400, reason: 'invalid', source: 'fog/fog-google#166' },
    message: "Invalid value for field 'disk': '{}'. No attached disk found with device name '{}'",
  },
  attachLimit: {
    ...{ status: 403, reason: 'limitExceeded', domain: 'usageLimits' },
    message: "Exceeded limit 'maximum_persistent_disks' on resource '{}'. Limit: {}",
  },
  unsupported: {
    ...{ status: 400, reason: 'unsupportedOperation' },
    message: 'Force attach is only supported for regional disks.',
  },
  quota: {
    ...{ status: 403, reason: 'quotaExceeded', domain: 'usageLimits', source: errorsPage },
    message: "Quota '{}' exceeded.  Limit: {} in region {}.",
  },
  rateLimited: {
    ...{ status: 403, reason: 'rateLimitExceeded', domain: 'usageLimits', source: errorsPage },
    message:
      "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service 'compute.googleapis.com'",
  },
  pending: {
    ...{ status: 403, reason: 'rateLimitExceeded', domain: 'usageLimits' },
    message: "Too many pending operations on a resource: '{}'",
    source: 'kubernetes-sigs/gcp-compute-persistent-disk-csi-driver#1129',
  },
  serverError: {
    ...{ status: 503, reason: 'backendError', canonical: 'UNAVAILABLE', source: errorsPage },
    message: 'Internal error. Please try again or contact Google Support.',
  },
} as const satisfies Readonly<Record<string, RefusalForm>>;

export type RefusalName = keyof typeof refusals;

/** The failures of operations: code and message. `{}` stands for the name of a resource. */
export const failures = {
  capacity: {
    code: 'ZONE_RESOURCE_POOL_EXHAUSTED',
    message:
      "The zone '{}' does not have enough resources available to fulfill the request.  Try a different zone, or try again later.",
    source: 'CCExtractor/sample-platform#901',
  },
  inUse: {
    code: 'RESOURCE_IN_USE_BY_ANOTHER_RESOURCE',
    message: "The disk resource '{}' is already being used by '{}'",
    source: 'openshift/release#7550',
  },
  notFound: {
    code: 'RESOURCE_NOT_FOUND',
    message: "The resource '{}' was not found",
    source: 'kubernetes-sigs/gcp-compute-persistent-disk-csi-driver, codes of operations',
  },
  tooOften: {
    code: 'RESOURCE_OPERATION_RATE_EXCEEDED',
    message:
      "Operation rate exceeded for resource '{}'. Too frequent operations from the source resource.",
    source: 'kubernetes-sigs/gcp-compute-persistent-disk-csi-driver#1847',
  },
} as const;

/** Puts values at the places of a message. */
export function filled(message: string, values: readonly string[]): string {
  const left = [...values];
  return message.replaceAll('{}', () => left.shift() ?? '');
}

/** The refusal of a request. The state and the routes throw it. */
export class Refusal extends Error {
  readonly refusal: RefusalName;

  constructor(refusal: RefusalName, ...values: readonly string[]) {
    super(filled(refusals[refusal].message, values));
    this.refusal = refusal;
  }
}

/** Returns the answer of a refusal. Without a text, its message has no values. */
export function refusalReply(
  name: RefusalName,
  text?: string,
  headers?: Readonly<Record<string, string>>,
): Reply {
  const form: RefusalForm = refusals[name];
  const { status: code, reason, domain = 'global', canonical } = form;
  const message = text ?? filled(form.message, []);
  const error = { code, message, errors: [{ message, domain, reason }] };
  const whole = canonical === undefined ? error : { ...error, status: canonical };
  return jsonReply(code, { error: whole }, headers);
}
