import { type FieldViolation, invalid } from '../../base/index.js';
import type { AnyKind } from '../../object/index.js';
import { type DescField, type DescMessage, isJsonMessage } from '../../rpc/index.js';

function dottedKey(map: string): string {
  return `a key with a dot can't be selected; ${map === 'labels' ? 'use a label selector' : `read "${map}" of the objects`}`;
}

/** The reason why a path does not name a field of `message`; undefined if it does. */
function problemOf(message: DescMessage, path: string): string | undefined {
  let inside: DescMessage | undefined = message;
  const parts = path.split('.');
  for (let at = 0; at < parts.length; at += 1) {
    const above = parts.slice(0, at).join('.');
    if (!inside) return `"${above}" has no fields; select by "${above}" itself`;
    if (isJsonMessage(inside)) return undefined;
    const field: DescField | undefined = inside.fields.find(
      ({ jsonName }) => jsonName === parts[at],
    );
    if (!field) {
      const prefix = above === '' ? '' : `${above}.`;
      const known = inside.fields.map(({ jsonName }) => `${prefix}${jsonName}`).sort();
      return `use one of ${known.join(', ')}`;
    }
    if (field.fieldKind === 'list' || field.fieldKind === 'map') {
      // The next part is an index of a list or a key of a map, which may have any value.
      at += 1;
      if (field.fieldKind === 'map' && !field.message)
        return at + 1 < parts.length ? dottedKey(parts.slice(0, at).join('.')) : undefined;
    }
    inside = field.message;
  }
  return undefined;
}

/**
 * Checks the paths of a selector. A selector by an unknown field would match nothing, or everything, forever.
 * @throws StatusError InvalidArgument that names the path, the kind and the existing fields.
 */
export function requireKnownPaths(
  kind: AnyKind,
  message: DescMessage,
  paths: readonly string[],
): void {
  const violations = paths.flatMap((path): FieldViolation[] => {
    const problem = problemOf(message, path);
    if (problem === undefined) return [];
    const description = `"${path}" is not a field of ${kind.kind}; ${problem}`;
    return [{ field: 'fieldSelector', description }];
  });
  if (violations.length > 0) throw invalid(violations);
}
