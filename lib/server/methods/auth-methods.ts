import { invalid, notFound, StatusError } from '../../base/index.js';
import { isDeleting } from '../../object/index.js';
import { isJsonObject, type JsonObject, textOf } from '../../rpc/index.js';
import type { ApiParts } from './api-parts.js';
import {
  type Access,
  bootstrap,
  makeToken,
  requireTokenDepth,
  type Token,
  tokenCreation,
  type TokenParent,
  tokens,
  users,
} from '../auth/index.js';
import type { CallContext, CustomMethod } from '../api/call.js';
import type { Verdict } from '../admission/validated-writes.js';
import type { Validation } from '../admission/validation.js';

async function canI(
  { authorizer }: ApiParts,
  { identity }: CallContext,
  access: Access,
): Promise<{ readonly allowed: boolean; readonly policies: readonly string[] }> {
  const allowing: string[] = [];
  for (const name of identity.policies)
    if (await authorizer.can({ ...identity, policies: [name] }, access)) allowing.push(name);
  return { allowed: allowing.length > 0, policies: allowing };
}

/**
 * Checks that a call comes from this machine.
 * @throws StatusError PermissionDenied (LoopbackOnly) for a call from another machine, or one that a proxy or browser
 * forwarded
 */
function requireOnMachine({ peer, indirection }: CallContext): void {
  const why = peer.loopback ? indirection?.() : `the call came from ${peer.address}`;
  if (why === undefined) return;
  throw new StatusError({
    code: 'PermissionDenied',
    reason: 'LoopbackOnly',
    message: `bootstrap is permitted only on the machine of kedged, over a loopback connection whose Host is a loopback or the listening address, and ${why}; call it there, for example at 127.0.0.1`,
  });
}

/**
 * Returns the parent of a new token: the token of the call, which the commit checks. Undefined if tokens are not
 * objects.
 * @throws StatusError Unauthenticated if it was revoked meanwhile, FailedPrecondition (TooManyAncestors)
 */
async function parentOf(validation: Validation): Promise<TokenParent | undefined> {
  const { tokenId: id, tokenUid: uid, expiresAt } = validation.identity;
  if (uid === undefined) return undefined;
  requireTokenDepth(validation.identity);
  const token = await validation.lookup(tokens, { name: id });
  if (token?.metadata.uid === uid && !isDeleting(token)) return { id, uid, expiresAt };
  throw new StatusError({
    code: 'Unauthenticated',
    reason: 'InvalidToken',
    message: 'the token of this call was revoked meanwhile; use another token',
  });
}

/**
 * Returns the methods bootstrap, whoami and can-i, and those of tokens. The text of a token is answered once and never
 * stored.
 */
export function authMethods(parts: ApiParts): readonly CustomMethod[] {
  const { store, clock, admission, writes, served } = parts;
  return [
    // Both names are served; the first one has the REST route.
    ...['AdminService.Bootstrap', 'AdminService.AdminBootstrap'].map(
      (id): CustomMethod => ({
        id,
        access: { type: 'anonymous' },
        handler: {
          type: 'unary',
          call: async (context) => {
            requireOnMachine(context);
            return { subject: 'root', token: await bootstrap(store) };
          },
        },
      }),
    ),
    {
      id: 'AuthService.WhoAmI',
      access: { type: 'authenticated', reads: true },
      handler: {
        type: 'unary',
        call: ({ identity }) => Promise.resolve({ ...identity }),
      },
    },
    {
      id: 'AuthService.CanI',
      access: { type: 'authenticated', reads: true },
      handler: {
        type: 'unary',
        call: (context, request) => {
          const verb = textOf(request, 'verb');
          const resource = textOf(request, 'resource');
          const violations = [
            ...(verb === '' ? [{ field: 'verb', description: 'is required' }] : []),
            ...(resource === '' ? [{ field: 'resource', description: 'is required' }] : []),
          ];
          if (violations.length > 0) throw invalid(violations);
          const plural = resource.split('/')[0];
          const kind = [...served.values()].find((k) => k.kind.plural === plural)?.kind;
          const named = textOf(request, 'namespace') || 'default';
          const namespace = kind?.scope === 'Cluster' ? undefined : named === '-' ? '*' : named;
          return canI(parts, context, { resource, verb, namespace });
        },
      },
    },
    {
      id: 'AuthService.CreateToken',
      access: { type: 'policy', resource: 'tokens', verb: 'create', scope: 'Cluster' },
      handler: {
        type: 'unary',
        call: (context, request) => {
          const kind = served.get(tokens.kind);
          if (!kind) throw new TypeError('tokens are not served');
          const material = makeToken();
          const object = isJsonObject(request.token) ? request.token : {};
          const asked = { served: kind, namespace: undefined, name: material.id, object } as const;
          return writes.run(context, async (validation): Promise<Verdict<JsonObject>> => {
            const [write] = await admission.prepare(validation, [{ ...asked, mode: 'create' }]);
            const wanted = write?.object as Token;
            if (request.dryRun === true) return { type: 'answer', answer: { ...wanted } };
            const parent = await parentOf(validation);
            const { subject } = wanted;
            const user = await validation.lookup(users, { name: subject });
            if (!user) throw notFound({ kind: users.kind, name: subject });
            return {
              type: 'commit',
              operations: [tokenCreation(wanted, user.metadata.uid, clock.now(), material, parent)],
              answer: ([made]) => ({ ...made?.object, token: material.text }),
            };
          });
        },
      },
    },
  ];
}
