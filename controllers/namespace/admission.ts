import { type ApiObject, counted, failedPrecondition } from 'kedge';
import type { AdmissionContext, AdmissionRules } from 'kedge/server';
import { configmaps } from '../configmap/kind.js';
import { instances } from '../instance/kind.js';
import { secrets } from '../secret/kind.js';
import { services } from '../service/kind.js';
import { snapshots } from '../snapshot/kind.js';
import { volumes } from '../volume/kind.js';
import type { Namespace } from './kind.js';

/** Present until the namespace is empty. */
export const namespaceFinalizer = 'svc.io/namespace';
/** Namespaces that every cluster has. */
export const builtinNamespaces = ['default', 'system'];

async function contentOf(
  context: AdmissionContext,
  namespace: string,
): Promise<readonly { readonly kind: string; readonly name: string }[]> {
  const found: { kind: string; name: string }[] = [];
  for (const kind of [services, instances, volumes, snapshots, secrets, configmaps] as const) {
    const inside = await context.lookupBy<ApiObject, string, string>(kind, 'namespace', namespace);
    for (const { name } of inside) found.push({ kind: kind.kind, name });
  }
  return found;
}

/** Rules of namespaces. */
export function namespaceRules(): AdmissionRules<Namespace> {
  return {
    finalizers: [namespaceFinalizer],
    async validateDelete(context, namespace, request) {
      const resource = { kind: 'Namespace', name: namespace.name };
      if (builtinNamespaces.includes(namespace.name))
        throw failedPrecondition(
          'BuiltIn',
          `namespace "${namespace.name}" is built in and can't be deleted`,
          resource,
        );
      if (request.cascade === true) return;
      const content = await contentOf(context, namespace.name);
      if (content.length === 0) return;
      const some = content
        .slice(0, 3)
        .map((c) => `${c.kind} ${c.name}`)
        .join(', ');
      throw failedPrecondition(
        'NotEmpty',
        `namespace "${namespace.name}" contains ${counted(content.length, 'object')} (${some}${content.length > 3 ? ', ...' : ''}); delete them first, or with it: kedge delete namespace ${namespace.name} --cascade (in the API: cascade=true)`,
        resource,
      );
    },
  };
}
