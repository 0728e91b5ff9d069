import type { AdmissionRules } from 'kedge/server';
import type { Instance } from './kind.js';
import { maskedTemplates } from '../service/index.js';

/** Present until the node has no resources of the instance. */
export const agentFinalizer = 'svc.io/agent';

/** Rules of instances: clients may read and delete them, only the service controller creates them. */
export function instanceRules(): AdmissionRules<Instance> {
  return {
    castRefusal: 'instances are created by their service: cast the service',
    present: (instance) => ({
      ...instance,
      template: { ...instance.template, ...maskedTemplates(instance.template) },
    }),
  };
}
