import type { ApiParts, CustomMethod } from 'kedge/server';
import type { InspectionOptions } from '../../inspection/index.js';
import { importVolume } from './import-volume.js';

/** `VolumeService.Import`. */
export function importVerbs(parts: ApiParts, options: InspectionOptions): readonly CustomMethod[] {
  return [
    {
      id: 'VolumeService.Import',
      access: { type: 'policy', resource: 'imports', verb: 'create', scope: 'Namespaced' },
      handler: {
        type: 'unary',
        call: (context, request) => importVolume(parts, options, context, request),
      },
    },
  ];
}
