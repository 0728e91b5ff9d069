import type { RevisionRange, Salvaged } from 'kedge';

/** The salvaged objects, one per line. */
export function foundLines({ objects }: Salvaged): readonly string[] {
  return objects.map(({ kind, namespace, name }) =>
    namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`,
  );
}

const rangesShown = 20;

function rangesText(ranges: readonly RevisionRange[]): string {
  const shown = ranges
    .slice(0, rangesShown)
    .map(({ first, last }) => (first === last ? `${first}` : `${first} to ${last}`));
  const more = ranges.length - shown.length;
  return shown.join(', ') + (more > 0 ? ` and ${more} ranges more` : '');
}

/** Known and possible losses, one per line. */
export function lossLines(found: Salvaged): readonly string[] {
  const { objects, records, damagedRecords, damagedFiles, losses, clusterId } = found;
  const { atMark, revisions, endKnown } = losses;
  // A damaged table may have held a later mark.
  const markKnown = atMark !== undefined && damagedFiles.length === 0;
  const lines = damagedFiles.map(({ name, detail }) => `Damaged: ${name}: ${detail}`);
  if (damagedRecords > 0) lines.push(`Damaged: ${damagedRecords} records that can't be read`);
  if (revisions.length > 0)
    lines.push(
      `Lost: writes of the revisions ${rangesText(revisions)}${markKnown ? '' : ', less those that a compaction dropped'}`,
    );
  if (atMark && !atMark.same)
    lines.push(
      `Lost: of ${atMark.expected} objects at revision ${atMark.revision} ${atMark.found} are there, or others came back`,
    );
  if (clusterId === undefined)
    lines.push(
      'Lost: the identity record, with the cluster id and the count of the objects. A backup of this is of another cluster',
    );
  if (!endKnown)
    lines.push('Not known: whether the last writes are lost; the high-water file tells nothing');
  if (lines.length === 0)
    return [`${objects.length} objects in ${records} records; nothing is lost`];
  return [
    `${objects.length} objects in ${records} readable records`,
    ...lines,
    'An object may be older than it was, and a deleted one may be among them.',
  ];
}
