import { type AnyKind, invalid } from 'kedge/objects';
import { type DescField, type DescMessage, isJsonMessage } from 'kedge/rpc';
import { apiSchemas } from '@kedge/api/schemas';
import { didYouMean } from '../../near-miss.js';
import type { Path, Segment, Template } from './jsonpath.js';

/** The shape at a path, as far as the schema knows it. */
type Shape =
  | { readonly type: 'object'; readonly fields: ReadonlyMap<string, () => Shape> }
  | { readonly type: 'list' | 'map'; readonly of: Shape }
  | { readonly type: 'value' }
  | { readonly type: 'unknown' };

const value: Shape = { type: 'value' };
const unknown: Shape = { type: 'unknown' };

function shapeOfMessage(message: DescMessage): Shape {
  if (isJsonMessage(message)) return unknown;
  const fields = message.fields.map(
    (field) => [field.jsonName, (): Shape => shapeOfField(field)] as const,
  );
  return { type: 'object', fields: new Map(fields) };
}

function shapeOfField(field: DescField): Shape {
  const inner = field.message ? shapeOfMessage(field.message) : value;
  if (field.fieldKind === 'list') return { type: 'list', of: inner };
  return field.fieldKind === 'map' ? { type: 'map', of: inner } : inner;
}

/** The shape of the output of `kedge get`: one object, or a list of objects. */
function shapeOfAnswer(kind: AnyKind, single: boolean): Shape {
  const object = shapeOfMessage(apiSchemas().message(`api.${kind.kind}`));
  if (object.type !== 'object') return unknown;
  const own = new Map([...object.fields, ['kind', object.fields.get('kind') ?? (() => value)]]);
  const whole: Shape = { type: 'object', fields: own };
  if (single) return whole;
  const items: Shape = { type: 'list', of: whole };
  return {
    type: 'object',
    fields: new Map([
      ['kind', () => value],
      ['items', () => items],
    ]),
  };
}

function refuse(description: string): Error {
  return invalid([{ field: '--output', description }]);
}

function step(shape: Shape, segment: Segment, root: Shape): Shape {
  if (shape.type === 'unknown') return shape;
  if (segment.type === 'field') {
    if (shape.type === 'map') return shape.of;
    if (shape.type === 'object') {
      const field = shape.fields.get(segment.name);
      if (field) return field();
      throw refuse(
        `field ${JSON.stringify(segment.name)} does not exist${didYouMean(segment.name, shape.fields.keys()) || `; fields: ${[...shape.fields.keys()].join(', ')}`}`,
      );
    }
    const hint =
      shape.type === 'list'
        ? "can't be read from a list; add [*] before it for the items"
        : "can't be read from a value without fields";
    throw refuse(`the field ${JSON.stringify(segment.name)} ${hint}`);
  }
  if (segment.type === 'all' && shape.type === 'object') return unknown;
  if (shape.type === 'list' || (shape.type === 'map' && segment.type === 'all')) {
    if (segment.type === 'filter') follow(segment.path, root, shape.of);
    return shape.of;
  }
  throw refuse('an index is used for a value that is not a list');
}

function follow({ from, segments }: Path, root: Shape, current: Shape): Shape {
  return segments.reduce(
    (shape, segment) => step(shape, segment, root),
    from === 'root' ? root : current,
  );
}

/**
 * Rejects paths to fields that no object of the kind has: such a path would print nothing.
 * @throws StatusError InvalidArgument naming the field and a suggestion
 */
export function requireKnownPaths(template: Template, kind: AnyKind, single: boolean): void {
  const root = shapeOfAnswer(kind, single);
  const check = (parts: Template, current: Shape): void => {
    for (const part of parts) {
      if (part.type === 'text') continue;
      const shape = follow(part.path, root, current);
      if (part.type === 'range') check(part.body, shape);
    }
  };
  check(template, root);
}
