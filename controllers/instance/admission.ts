import type { AdmissionRules } from 'kedge/server';
import type { Instance } from './kind.js';
import { maskedTemplates } from '../service/index.js';

/** Held by the node that runs the instance until nothing of it is left there. */
export const agentFinalizer = 'svc.io/agent';

/** Rules of instances: clients read and delete them, only the service controller makes them. */
export function instanceRules(): AdmissionRules<Instance> {
  return {
    castRefusal: 'instances are made by their service: cast the service',
    present: (instance) => ({
      ...instance,
      template: { ...instance.template, ...maskedTemplates(instance.template) },
    }),
  };
}
