import { type ReasonEntry, reasonGroups, type Subject } from '@kedge/controllers/cause';
import { nodeTexts, startTexts, storageRootTexts, storageTexts } from '@kedge/controllers/messages';
import { aboutSample } from './reason-samples.js';

const introduction = `# Reasons of conditions

The meaning and the remedy of each reason of a condition, volume or snapshot. \`kedge why TYPE/NAME\` prints the
reason, the remedy and the command for one object, with its names filled in; \`kedge describe\`, \`kedge cast\` and
the last column of \`kedge get\` show them too. \`ReconcileRefused\` and \`Reconciled\` are reasons of events, which
\`kedge get\` does not read. The remedies below use the object names of the examples:
service and instance \`web\`, volume \`data\`, snapshot \`copy\`, node \`n1\`, class \`fast\`.

This page is generated from the table of reasons in \`controllers/reasons\`: \`node scripts/reasons-page.mjs\`.
`;

/** The kind of the object in the examples of each heading. */
const kinds: Readonly<Record<keyof typeof reasonGroups, Subject['kind']>> = {
  'Driver errors': 'Volume',
  'Volumes and snapshots': 'Volume',
  Instances: 'Instance',
  Services: 'Service',
  'Nodes, namespaces and storage roots': 'Node',
  'Desired states': 'Service',
};
/** Reasons whose example is an object of another kind than that of their heading. */
const others: Readonly<Record<string, Subject['kind']>> = {
  Creating: 'Snapshot',
  Finalizing: 'Namespace',
  NodeGone: 'Instance',
  RestoreInFlight: 'Snapshot',
  SnapshotLost: 'Snapshot',
  SourceNotReady: 'Snapshot',
};

/** A sample message for a reason whose remedy depends on it. */
const messages: Readonly<Record<string, string>> = {
  Paused: startTexts.containerPaused.format({ container: 'web-0' }),
  SnapshotNotReady: storageTexts.quotedSnapshot.format({ snapshot: 'default/copy' }),
  StorageRootMissing: storageRootTexts.storageRootLabel.format({ path: '/srv/volumes' }),
  VolumeInUse: storageTexts.usedBy.format({ instance: 'default/db-0' }),
  WaitsForNode: nodeTexts.waitsForNode.format({ node: 'n1' }),
};

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function section(heading: keyof typeof reasonGroups): string {
  const group: Readonly<Record<string, ReasonEntry>> = reasonGroups[heading];
  const rows = Object.entries(group)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([reason, entry]) => {
      if (entry.type === 'settled') return `| \`${reason}\` | ${cell(entry.meaning)} | none |`;
      const about = aboutSample(others[reason] ?? kinds[heading], messages[reason] ?? '');
      return `| \`${reason}\` | ${cell(entry.meaning)} | ${cell(entry.remedy(about).text)} |`;
    });
  return `## ${heading}\n\n| Reason | Meaning | Remedy |\n| --- | --- | --- |\n${rows.join('\n')}\n`;
}

/** Renders the page docs/reference/reasons.md. */
export function reasonsPage(): string {
  const headings = Object.keys(reasonGroups) as readonly (keyof typeof reasonGroups)[];
  return `${introduction}\n${headings.map(section).join('\n')}`;
}
