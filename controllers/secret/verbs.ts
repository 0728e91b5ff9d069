import type { CustomMethod } from 'kedge/server';
import type { KeyRotation } from './key-rotation.js';

/** `AdminService.RotateKeys`. */
export function keyVerbs(rotation: KeyRotation): readonly CustomMethod[] {
  return [
    {
      id: 'AdminService.RotateKeys',
      access: { type: 'policy', resource: 'keys', verb: 'update', scope: 'Cluster' },
      handler: { type: 'unary', call: async () => ({ ...(await rotation.rotate()) }) },
    },
  ];
}
