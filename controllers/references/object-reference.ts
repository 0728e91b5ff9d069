const label = '[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?';
const reference = new RegExp(`^(${label})(?:\\.(${label})\\.svc)?$`);

/**
 * Parses a reference to an object: a bare name in the same namespace, or `<name>.<namespace>.svc` (specification
 * section 2.4). Undefined if it is neither.
 */
export function referredKey(
  text: string,
  namespace: string,
): { readonly namespace: string; readonly name: string } | undefined {
  const match = reference.exec(text);
  if (!match?.[1]) return undefined;
  return { namespace: match[2] ?? namespace, name: match[1] };
}
