import { invalid } from 'kedge';
import { type JsonObject, textOf } from 'kedge/rpc';
import { type ApiParts, type CallContext, type CustomMethod, type User, users } from 'kedge/server';

async function changePolicies(
  parts: ApiParts,
  context: CallContext,
  request: JsonObject,
  change: (held: readonly string[], policy: string) => readonly string[],
): Promise<JsonObject> {
  const served = parts.served.get(users.kind);
  if (!served) throw new TypeError('users are not served');
  const name = textOf(request, 'name');
  const policy = textOf(request, 'policy');
  if (policy === '') throw invalid([{ field: 'policy', description: 'is required' }]);
  return parts.resources.change<User>(served, context, { name }, ({ policies: held = [] }) => {
    const next = change(held, policy);
    return next === held ? undefined : { policies: next };
  });
}

/** `AdminService.AttachPolicy` and `DetachPolicy`. */
export function accessVerbs(parts: ApiParts): readonly CustomMethod[] {
  const access = { type: 'policy', resource: 'users', verb: 'update', scope: 'Cluster' } as const;
  const attach = (held: readonly string[], policy: string): readonly string[] =>
    held.includes(policy) ? held : [...held, policy];
  const detach = (held: readonly string[], policy: string): readonly string[] =>
    held.includes(policy) ? held.filter((name) => name !== policy) : held;
  const method = (id: string, change: typeof attach): CustomMethod => ({
    id,
    access,
    handler: {
      type: 'unary',
      call: (context, request) => changePolicies(parts, context, request, change),
    },
  });
  return [method('AdminService.AttachPolicy', attach), method('AdminService.DetachPolicy', detach)];
}
