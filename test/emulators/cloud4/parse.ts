import { bodyObject, type WireRequest } from '../core/wire.js';
import { Refusal } from './refusals.js';
import { areLabels, diskTypes, isName, namePattern, urlParts } from './rules.js';
import type { State } from './state.js';

/** A JSON object of a request or an answer. */
export type Fields = Readonly<Record<string, unknown>>;

/** Returns the body of a request. Fields that the provider only sends are ignored. @throws Refusal */
export function fields(request: WireRequest): Fields {
  const body = bodyObject(request);
  if (!body) throw new Refusal('badJson');
  return body;
}

/** Returns a text; undefined for an absent or an empty one. @throws Refusal */
export function textOf(body: Fields, name: string): string | undefined {
  const value = body[name];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value !== 'string')
    throw new Refusal('invalid', `resource.${name}`, JSON.stringify(value), 'It is no text.');
  return value;
}

/** Returns the name of a new resource. @throws Refusal */
export function nameOf(body: Fields): string {
  const name = textOf(body, 'name');
  if (name === undefined) throw new Refusal('required', 'resource.name');
  if (isName(name)) return name;
  const why = `Must be a match of regex '${namePattern}'`;
  throw new Refusal('invalid', 'resource.name', name, why);
}

/** Returns labels; an empty map if there are none. @throws Refusal */
export function labelsOf(body: Fields): Readonly<Record<string, string>> {
  const labels = body['labels'] ?? {};
  if (areLabels(labels)) return labels;
  const why =
    'Label keys and values have at most 63 lowercase letters, digits, dashes and underscores.';
  throw new Refusal('invalid', 'resource.labels', JSON.stringify(labels), why);
}

/** Returns the size in GiB, which is text or a number in JSON; undefined if it is absent. @throws Refusal */
export function sizeOf(body: Fields): number | undefined {
  const value = body['sizeGb'];
  if (value === undefined || value === null) return undefined;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  const size = /^\d+$/.test(text) ? Number(text) : -1;
  if (size > 0) return size;
  throw new Refusal('invalid', 'resource.sizeGb', text, 'Must be greater than 0.');
}

/** Returns the type of a new disk. The provider's default is pd-standard. @throws Refusal */
export function typeOf(state: State, body: Fields, zone: string): string {
  const [place, type] = partOfUrl(state, body, 'type', 'zones/*/diskTypes/*') ?? [
    zone,
    'pd-standard',
  ];
  const known = diskTypes.some(({ name }) => name === type);
  if (known && place === zone && type !== undefined) return type;
  const why = `The resource '${state.paths.zone(place ?? zone)}/diskTypes/${type}' was not found`;
  throw new Refusal('invalid', 'resource.type', String(body['type']), why);
}

/** Returns the parts of a field's URL at the stars of the pattern; undefined if the field is absent. @throws Refusal */
export function partOfUrl(
  state: State,
  body: Fields,
  name: string,
  pattern: string,
): readonly string[] | undefined {
  const url = textOf(body, name);
  if (url === undefined) return undefined;
  const parts = urlParts(pattern, url, state.paths.project);
  if (!parts) throw new Refusal('invalid', `resource.${name}`, url, 'The URL is malformed.');
  return parts;
}
