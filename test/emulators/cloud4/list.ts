import { jsonReply, queryValue, type Reply, type WireRequest } from '../core/wire.js';
import { Refusal } from './refusals.js';
import { limits } from './rules.js';

type Json = Readonly<Record<string, unknown>>;

/** The inputs of {@link listReply}. */
export interface Listed {
  /** The kind of the list, such as `diskList`. */
  readonly kind: string;
  readonly items: readonly Json[];
  /** The largest page that the provider gives, regardless of the request. */
  readonly pageMax: number;
}

/**
 * Returns a page of a list, filtered and ordered as requested. An empty page has no `items`. @throws Refusal
 * for wrong parameters
 */
export function listReply(request: WireRequest, { kind, items, pageMax }: Listed): Reply {
  const path = request.path.replace('/compute/v1/', '');
  const filter = queryValue(request, 'filter') ?? '';
  const found = ordered(items, queryValue(request, 'orderBy')).filter(filterOf(filter));
  const token = queryValue(request, 'pageToken');
  const start = token === undefined || token === '' ? 0 : after(found, token);
  const page = found.slice(start, start + sizeOf(request, pageMax));
  const last = page.at(-1);
  const more = last !== undefined && start + page.length < found.length;
  return jsonReply(200, {
    ...{ kind: `compute#${kind}`, id: path },
    ...(page.length === 0 ? {} : { items: page }),
    ...(more ? { nextPageToken: tokenOf(last) } : {}),
    selfLink: `https://www.googleapis.com/compute/v1/${path}`,
  });
}

function sizeOf(request: WireRequest, pageMax: number): number {
  const text = queryValue(request, 'maxResults') ?? String(limits.perPage);
  const value = /^\d+$/.test(text) ? Number(text) : -1;
  if (value < 0 || value > limits.perPage)
    throw new Refusal('invalid', 'maxResults', text, `It is a number from 0 to ${limits.perPage}.`);
  return value === 0 ? pageMax : Math.min(value, pageMax);
}

function tokenOf(item: Json): string {
  return Buffer.from(String(item['name'])).toString('base64url');
}

/** Returns the place after the last item of the page before. */
function after(items: readonly Json[], token: string): number {
  const place = items.findIndex((item) => tokenOf(item) === token);
  if (place < 0) throw new Refusal('invalid', 'pageToken', token, 'The page token is invalid.');
  return place + 1;
}

function ordered(items: readonly Json[], by: string | undefined): readonly Json[] {
  const compare = (key: string, sign: number) => (a: Json, b: Json) =>
    String(a[key]) < String(b[key]) ? -sign : sign;
  if (by === undefined || by === '' || by === 'name') return [...items].sort(compare('name', 1));
  if (by === 'creationTimestamp desc') return [...items].sort(compare('creationTimestamp', -1));
  throw new Refusal('invalid', 'orderBy', by, 'Sorting by this field is not supported.');
}

/** Returns a field such as `labels.tier` as text; undefined for an absent one. */
function fieldOf(item: Json, name: string): string | undefined {
  const step = (value: unknown, key: string): unknown => (value as Json | undefined)?.[key];
  const value = name.split('.').reduce<unknown>(step, item);
  if (value === undefined) return undefined;
  return typeof value === 'string' ? value : JSON.stringify(value);
}

type Test = (item: Json) => boolean;

const form = /^([\w.-]+)\s*(!=|=|:|\beq\b|\bne\b)\s*["']?(.*?)["']?$/;

/**
 * Parses a filter: terms that are all true, in the form `field=value`, `field!=value`, `field:*`, `field eq REGEXP` or
 * `field ne REGEXP`, joined by AND or in parentheses one after the other. @throws Refusal for another form
 */
export function filterOf(text: string): Test {
  const terms = text.split(/\s+AND\s+|\)\s*\(/).map((term) => term.trim().replace(/^\(|\)$/g, ''));
  const tests = terms.filter((term) => term !== '').map(testOf);
  return (item) => tests.every((test) => test(item));
}

function testOf(term: string): Test {
  const [, field = '', operator = '', value = ''] = form.exec(term) ?? [];
  const same: Test = (item) => (fieldOf(item, field) ?? '') === value;
  const whole: Test = (item) => new RegExp(`^(?:${value})$`).test(fieldOf(item, field) ?? '');
  const not =
    (test: Test): Test =>
    (item) =>
      !test(item);
  const present: Test = (item) => fieldOf(item, field) !== undefined;
  const tests: Readonly<Record<string, Test>> = {
    ...{ '=': same, '!=': not(same), eq: whole, ne: not(whole) },
    ...(value === '*' ? { ':': present } : {}),
  };
  const test = tests[operator];
  if (!test) throw new Refusal('invalid', 'filter', term, 'Invalid list filter expression.');
  return test;
}
