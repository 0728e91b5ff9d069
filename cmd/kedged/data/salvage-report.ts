import { counted, type RevisionRange, type Salvaged } from 'kedge';

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
  return shown.join(', ') + (more > 0 ? ` and ${counted(more, 'more range')}` : '');
}

/** Returns the known and possible losses, one per line. */
export function lossLines(found: Salvaged): readonly string[] {
  const { objects, records, damagedRecords, damagedFiles, losses, clusterId } = found;
  const { atMark, revisions, endKnown } = losses;
  // A damaged table may have held a later mark.
  const markKnown = atMark !== undefined && damagedFiles.length === 0;
  const lines = damagedFiles.map(({ name, detail }) => `Damaged: ${name}: ${detail}`);
  if (damagedRecords > 0)
    lines.push(`Damaged: ${counted(damagedRecords, 'record')} that can't be decoded`);
  if (revisions.length > 0)
    lines.push(
      `Lost: writes of the revisions ${rangesText(revisions)}${markKnown ? '' : ', except those that a compaction dropped'}`,
    );
  if (atMark && !atMark.same)
    lines.push(
      `Lost: ${atMark.found} of ${atMark.expected} objects at revision ${atMark.revision} were found, or deleted objects reappeared`,
    );
  if (clusterId === undefined)
    lines.push(
      'Lost: the identity record with the cluster id and the number of objects. A backup of this store gets another cluster id',
    );
  if (!endKnown)
    lines.push("Unknown: whether the last writes are lost; the high-water file can't be read");
  if (lines.length === 0)
    return [
      `${counted(objects.length, 'object')} in ${counted(records, 'record')}; nothing is lost`,
    ];
  return [
    `${counted(objects.length, 'object')} in ${counted(records, 'readable record')}`,
    ...lines,
    'Objects may be in an older version, and deleted objects may be among them.',
  ];
}
