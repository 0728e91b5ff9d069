import { StatusError } from 'kedge';
import { isJsonObject, type JsonObject, textOf } from 'kedge/rpc';
import type { CallContext, CustomMethod, MethodAccess } from 'kedge/server';
import type { ConnectedAgents } from './connected-agents.js';

/** The resource and verb of the right to serve the requests of a node. */
const right = { resource: 'noderequests', verb: 'serve' } as const;

const access: MethodAccess = {
  type: 'request',
  required: () => ({ ...right, namespace: undefined }),
  recorded: (request) => [{ ...right, namespace: '', name: textOf(request, 'node') }],
};

/**
 * Returns the node of a request if it is the node of the caller's token. The right alone is not enough: an account
 * without a node, also one of an administrator, would receive commands and output of every node.
 * @throws StatusError PermissionDenied
 */
function requireOwnNode({ identity }: Pick<CallContext, 'identity'>, request: JsonObject): string {
  const node = textOf(request, 'node');
  if (identity.node !== undefined && identity.node !== '' && identity.node === node) return node;
  throw new StatusError({
    code: 'PermissionDenied',
    reason: 'PermissionDenied',
    message: `${identity.subject} is not permitted to serve the requests of node ${JSON.stringify(node.slice(0, 80))}; only the service account of that node is`,
  });
}

/** `AgentService`. */
export function agentVerbs(agents: ConnectedAgents): readonly CustomMethod[] {
  return [
    {
      id: 'AgentService.Connect',
      access,
      handler: {
        type: 'bidi',
        opening: (first) => (isJsonObject(first.start) ? first.start : {}),
        async *call(context, request) {
          const node = requireOwnNode(context, request);
          yield* agents.connect(node, textOf(request, 'agentId'), context.signal);
        },
      },
    },
    {
      id: 'AgentService.Answer',
      access,
      handler: {
        type: 'bidi',
        opening: (first) => (isJsonObject(first.start) ? first.start : {}),
        async *call(context, request, further) {
          const node = requireOwnNode(context, request);
          yield* agents.answer(node, textOf(request, 'id'), further, context.signal);
        },
      },
    },
  ];
}
