import { isSecretReference, secretNameIn } from '@kedge/driver-sdk/parameters';

/** A secret's key, as a parameter refers to it (specification section 5.2). */
export interface SecretReference {
  readonly namespace: string;
  readonly name: string;
  readonly key: string;
}

const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const form = new RegExp(`^secret:(${label})(?:\\.(${label})\\.svc)?/([-._a-zA-Z0-9]{1,253})$`);

/** The rule for a reference, for error messages. */
const referenceRule =
  'a secret reference has the form secret:<name>/<key> or secret:<name>.<namespace>.svc/<key>';

const nameForm = new RegExp(`^(${label})/(${label})$`);

/** A parameter value parsed as a reference. */
export type ParsedReference =
  | { readonly type: 'literal' }
  | { readonly type: 'malformed'; readonly rule: string }
  | { readonly type: 'reference'; readonly reference: SecretReference };

/**
 * Reads a parameter as a reference: any value that begins with `secret:`, and the name of a secret in a parameter that a
 * driver declares for it (specification section 5.2).
 */
export function parameterReference(
  key: string,
  value: string,
  consumerNamespace: string,
): ParsedReference {
  const named = secretNameIn(key);
  if (!named) return parseReference(value, consumerNamespace);
  const [, namespace = '', name = ''] = nameForm.exec(value) ?? [];
  if (name !== '') return { type: 'reference', reference: { namespace, name, key: named.key } };
  const rule = `${key} has the form <namespace>/<secret-name>; better: ${named.preferred}: secret:<name>.<namespace>.svc/<key>`;
  return { type: 'malformed', rule };
}

/**
 * Reads a parameter value as a reference; the short form refers to the consuming volume's namespace. `literal` for
 * a value without the prefix, `malformed` for an invalid one with it.
 */
export function parseReference(value: string, consumerNamespace: string): ParsedReference {
  if (!isSecretReference(value)) return { type: 'literal' };
  const match = form.exec(value);
  if (!match) return { type: 'malformed', rule: referenceRule };
  const [, name = '', namespace = consumerNamespace, key = ''] = match;
  return { type: 'reference', reference: { namespace, name, key } };
}

/** The secrets that parameters refer to, as `<namespace>/<name>`. */
export function referencedSecrets(
  parameters: Readonly<Record<string, string>> | undefined,
  namespace: string,
): readonly string[] {
  return Object.entries(parameters ?? {}).flatMap(([key, value]) => {
    const parsed = parameterReference(key, value, namespace);
    return parsed.type === 'reference'
      ? [`${parsed.reference.namespace}/${parsed.reference.name}`]
      : [];
  });
}
