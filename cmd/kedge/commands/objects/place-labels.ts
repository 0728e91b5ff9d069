import { nearest } from '../../../near-miss.js';
import type { Target } from '../../connection/targets.js';
import { note } from '../../output/output.js';

/** Labels of nodes that drivers read: the places of volumes. */
const placeLabels: readonly string[] = ['svc.io/region', 'svc.io/zone'];

/** Other names for them: those of Kubernetes, and words that people use. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['topology.kubernetes.io/region', 'svc.io/region'],
  ['topology.kubernetes.io/zone', 'svc.io/zone'],
  ['failure-domain.beta.kubernetes.io/region', 'svc.io/region'],
  ['failure-domain.beta.kubernetes.io/zone', 'svc.io/zone'],
  ['region', 'svc.io/region'],
  ['zone', 'svc.io/zone'],
]);

/**
 * Prints a hint for each label of a node that resembles a place label but that no driver reads.
 * @param labels those that are set; one that is removed has no value
 */
export function hintAtPlaces(
  targets: readonly Pick<Target, 'kind'>[],
  labels: Readonly<Record<string, unknown>>,
): void {
  if (!targets.some(({ kind }) => kind.kind === 'Node')) return;
  for (const [key, value] of Object.entries(labels)) {
    if (value === undefined || value === null || placeLabels.includes(key)) continue;
    const meant = otherNames.get(key) ?? nearest(key, placeLabels);
    if (meant !== undefined) note(`no driver reads label ${key}; did you mean ${meant}?`);
  }
}
