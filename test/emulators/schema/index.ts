/**
 * What the providers' published definitions say of requests: methods, paths, queries, bodies and types, with a
 * source per row. Written apart from the emulators, so that a misreading in one of them is seen by the other.
 */
import { checkRequest, type CheckedRequest } from './check.js';
import { cloud1Requests } from './cloud1.js';
import { cloud2Requests } from './cloud2.js';
import type { RequestSchema } from './row.js';

/** The schemas by provider. */
export const requestSchemas = {
  cloud1: cloud1Requests,
  cloud2: cloud2Requests,
} as const satisfies Readonly<Record<string, RequestSchema>>;

/** The check of a provider's requests. */
export function checkOf(
  provider: keyof typeof requestSchemas,
): (request: CheckedRequest) => readonly string[] {
  return (request) => checkRequest(requestSchemas[provider], request);
}
