import type { ParameterRule, Parameters, ParameterViolation } from '@kedge/driver-sdk';

/** The node label of the zone of a disk, unless the parameter `zone` names it. */
export const zoneLabel = 'svc.io/zone';

/** The disk types of specification section 2.5, the default first. */
export const diskTypes = ['pd-balanced', 'pd-ssd', 'pd-standard', 'pd-extreme'] as const;

/** The driver's parameters (specification section 2.5), without `fsType`, which all block drivers have. */
export const cloud4Parameters: readonly ParameterRule[] = [
  { key: 'zone' },
  { key: 'project' },
  { key: 'diskType', values: diskTypes },
  { key: 'credentialsJSON', sensitive: true },
];

/** The name of a region, such as `europe-west3`. Zones have a letter more. */
const regionForm = /^[a-z]+-[a-z]+\d+$/;

/** Finds a zone that is the name of a region: the provider refuses it at the first volume. */
export function zoneViolations({ zone = '' }: Parameters): readonly ParameterViolation[] {
  if (!regionForm.test(zone)) return [];
  return [
    {
      key: 'zone',
      description: 'is the name of a region; give a zone of it, such as europe-west3-a',
    },
  ];
}
