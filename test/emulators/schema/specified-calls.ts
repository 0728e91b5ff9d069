/**
 * The calls that the specification (2.5) permits each driver. Another call needs rights that tokens with the documented
 * scopes lack. A star matches one segment.
 */
export const specifiedCalls = {
  /** The calls of the scopes block_storage, block_storage_action, actions, droplet and block_storage_snapshot. */
  cloud1: [
    'GET /v2/volumes',
    'POST /v2/volumes',
    'GET /v2/volumes/*',
    'DELETE /v2/volumes/*',
    'POST /v2/volumes/*/actions',
    // Not `/v2/volumes/*/actions/*`, which needs block_storage_action:read.
    'GET /v2/actions/*',
    'GET /v2/droplets',
    'POST /v2/volumes/*/snapshots',
    'GET /v2/volumes/*/snapshots',
    // Not `/v2/snapshots/*`, which needs snapshot:* and image:delete.
    'GET /v2/volumes/snapshots/*',
    'DELETE /v2/volumes/snapshots/*',
  ],
  /** The calls in the specification's list, and the list of volumes by name, which repeated calls need. */
  cloud2: [
    'POST /v1/volumes',
    'GET /v1/volumes/*',
    'DELETE /v1/volumes/*',
    'POST /v1/volumes/*/actions/attach',
    'POST /v1/volumes/*/actions/detach',
    'POST /v1/volumes/*/actions/resize',
    'GET /v1/actions/*',
    'GET /v1/servers',
    'GET /v1/volumes',
  ],
  /** All actions of the EC2 API have one path; its schema and the permissions of a token decide about the actions. */
  cloud3: ['POST /'],
  /**
   * The calls of the permissions disk create/delete/get, resize, use, attach and detach, snapshot create/delete/get,
   * instance get and operation get.
   */
  cloud4: [
    'POST /compute/v1/projects/*/zones/*/disks',
    'GET /compute/v1/projects/*/zones/*/disks/*',
    'DELETE /compute/v1/projects/*/zones/*/disks/*',
    'POST /compute/v1/projects/*/zones/*/disks/*/resize',
    'POST /compute/v1/projects/*/zones/*/instances/*/attachDisk',
    'POST /compute/v1/projects/*/zones/*/instances/*/detachDisk',
    'GET /compute/v1/projects/*/zones/*/instances/*',
    'POST /compute/v1/projects/*/global/snapshots',
    'GET /compute/v1/projects/*/global/snapshots/*',
    'DELETE /compute/v1/projects/*/global/snapshots/*',
    'GET /compute/v1/projects/*/zones/*/operations/*',
    'GET /compute/v1/projects/*/global/operations/*',
    'POST /compute/v1/projects/*/zones/*/operations/*/wait',
    'POST /compute/v1/projects/*/global/operations/*/wait',
  ],
} as const;

type Asked = readonly { readonly method: string; readonly path: string }[];

function patternOf(call: string): RegExp {
  const parts = call.split('/').map((part) => (part === '*' ? '[^/]+' : part));
  return new RegExp(`^${parts.join('/')}$`);
}

function callsIn(requests: Asked): readonly string[] {
  return [...new Set(requests.map(({ method, path }) => `${method} ${path}`))];
}

/** Returns the specified calls that at least one of the requests makes. */
export function specifiedCallsIn(
  provider: keyof typeof specifiedCalls,
  requests: Asked,
): readonly string[] {
  const calls = callsIn(requests);
  return specifiedCalls[provider].filter((call) => {
    const pattern = patternOf(call);
    return calls.some((one) => pattern.test(one));
  });
}

/** Returns the requests that are none of the specified calls, such as `GET /v2/sizes`. */
export function unspecifiedCalls(
  provider: keyof typeof specifiedCalls,
  requests: Asked,
): readonly string[] {
  const patterns = specifiedCalls[provider].map(patternOf);
  return callsIn(requests).filter((call) => !patterns.some((pattern) => pattern.test(call)));
}
