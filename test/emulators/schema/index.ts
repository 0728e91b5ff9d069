/**
 * The rules for requests in the providers' published definitions: methods, paths, queries, bodies and types, with the
 * source of each row. They were written independently of the emulators, so that one detects errors in the other.
 */
import { checkRequest, type CheckedRequest } from './check.js';
import { cloud1Requests } from './cloud1.js';
import { cloud2Requests } from './cloud2.js';
import { cloud3Requests } from './cloud3.js';
import { cloud4Requests } from './cloud4.js';
import { checkForm, type FormSchema } from './form.js';
import type { RequestSchema } from './row.js';

/** The schemas by provider. */
export const requestSchemas = {
  cloud1: cloud1Requests,
  cloud2: cloud2Requests,
  cloud4: cloud4Requests,
} as const satisfies Readonly<Record<string, RequestSchema>>;

/** The schemas of the providers whose requests are forms. */
export const formSchemas = {
  cloud3: cloud3Requests,
} as const satisfies Readonly<Record<string, FormSchema>>;

/**
 * Returns a function that returns the deviations of a request from a provider's definition. A provider without a schema
 * has no deviations.
 */
export function checkOf(provider: string): (request: CheckedRequest) => readonly string[] {
  const form: FormSchema | undefined = formSchemas[provider as keyof typeof formSchemas];
  if (form) return (request) => checkForm(form, request);
  const schema: RequestSchema | undefined = requestSchemas[provider as keyof typeof requestSchemas];
  return (request) => (schema ? checkRequest(schema, request) : []);
}
