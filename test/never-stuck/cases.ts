import { errorClasses } from '@kedge/driver-sdk';
import { type DescEnum, SchemaRegistry } from 'kedge/rpc';
import { descriptorSet } from '@kedge/api';
import type { RuntimeFault } from './machine.js';
import type { Fault } from './provider.js';
import { relations, type Subject, type Target } from './references.js';

/** The breakage of an object that others depend on. */
export type ObjectBreakage = 'missing' | 'wrong' | 'late' | 'deleted' | 'madeAgain';
/** The breakage of a machine. */
export type NodeBreakage = 'silent' | 'deleted' | 'deletedAlive' | 'madeAgain' | 'missing' | 'late';

/** One broken dependency. */
export type Broken =
  | { readonly to: 'driver'; readonly breakage: Fault }
  | { readonly to: 'runtime'; readonly breakage: RuntimeFault }
  | { readonly to: 'Node' | 'home'; readonly breakage: NodeBreakage }
  | {
      readonly to: Exclude<Target, 'driver' | 'runtime' | 'Node' | 'home'>;
      readonly breakage: ObjectBreakage;
    };

/** Whether a dependency is broken before its dependant exists. */
export function isBefore({ breakage }: Broken): boolean {
  return breakage === 'missing' || breakage === 'wrong' || breakage === 'late';
}

/** The action while a dependency is broken; `return` restores it without another action. */
export const actions = ['delete', 'recast', 'restart', 'return'] as const;

/** One combination. */
export interface Case {
  readonly from: Subject;
  readonly phase: string;
  readonly broken: Broken;
  readonly action: (typeof actions)[number];
}

/** Combinations that are not run. */
export interface LeftOut {
  /** The excluded values. */
  readonly which: string;
  readonly reason: string;
  readonly count: number;
}

const objectBreakages: readonly ObjectBreakage[] = [
  'missing',
  'wrong',
  'late',
  'deleted',
  'madeAgain',
];
const nodeBreakages: readonly NodeBreakage[] = [
  'silent',
  'deleted',
  'deletedAlive',
  'madeAgain',
  'missing',
  'late',
];
const faults: readonly Fault[] = [...(Object.keys(errorClasses) as Fault[]), 'slow'];
const runtimeFaults: readonly RuntimeFault[] = ['unavailable', 'startsFail', 'startsHang', 'deaf'];

function brokenOf(to: Target): readonly Broken[] {
  if (to === 'driver') return faults.map((breakage) => ({ to, breakage }));
  if (to === 'runtime') return runtimeFaults.map((breakage) => ({ to, breakage }));
  if (to === 'Node' || to === 'home') return nodeBreakages.map((breakage) => ({ to, breakage }));
  return objectBreakages.map((breakage) => ({ to, breakage }));
}

const schemas = new SchemaRegistry(descriptorSet);

/** The phases of a kind according to its schema. */
export function phasesOf(kind: Subject): readonly string[] {
  const status = schemas.message(`api.${kind}`).fields.find((f) => f.jsonName === 'status');
  const values: DescEnum['values'] = status?.enum?.values ?? [];
  return values.map((value) => value.name).filter((name) => !name.endsWith('UNSPECIFIED'));
}

interface Exclusion {
  readonly from?: Subject;
  readonly phases?: readonly string[];
  /** All except these. */
  readonly otherPhases?: readonly string[];
  readonly to?: readonly Target[];
  readonly breakages?: readonly string[];
  readonly actions?: readonly string[];
  readonly reason: string;
}

const before = ['missing', 'wrong', 'late'];
const refused = 'Create is refused, and the refusal names it';

/** The first match is the reason. */
const exclusions: readonly Exclusion[] = [
  {
    to: ['Namespace'],
    breakages: ['missing', 'late', 'wrong'],
    reason: refused,
  },
  {
    to: ['Namespace'],
    breakages: ['madeAgain'],
    reason:
      'a namespace is removed when it is empty: its objects never exist in a later one of its name',
  },
  {
    to: ['StorageClass', 'Snapshot'],
    breakages: ['missing', 'late'],
    from: 'Volume',
    reason: refused,
  },
  { to: ['StorageClass'], breakages: ['missing', 'late'], from: 'Service', reason: refused },
  { to: ['Volume'], breakages: ['missing', 'late'], from: 'Snapshot', reason: refused },
  {
    to: ['StorageClass'],
    breakages: ['missing', 'late'],
    reason:
      'neither the instance nor the content of the namespace exists then: the Service or Volume is refused',
  },
  {
    from: 'Volume',
    to: ['Service', 'Instance'],
    breakages: before,
    reason: 'the service creates its volume, and the instance claims it: neither is created later',
  },
  {
    from: 'Instance',
    to: ['Service'],
    breakages: before,
    reason: 'an instance is created by its service',
  },
  {
    from: 'Namespace',
    to: ['Instance'],
    breakages: before,
    reason: 'nothing in a namespace needs an instance before it exists',
  },
  {
    from: 'Volume',
    to: ['Node'],
    breakages: ['missing', 'late'],
    reason:
      'a volume of a provider waits for no named node; home is the dependency of a volume that does',
  },
  {
    from: 'Namespace',
    to: ['Node', 'home'],
    breakages: ['missing', 'late'],
    reason: 'a namespace waits for no node before something runs there',
  },
  {
    from: 'Namespace',
    phases: ['Terminating'],
    to: ['Secret'],
    breakages: before,
    reason: 'an object that was never provisioned is deleted at once, and the namespace with it',
  },
  {
    from: 'Node',
    breakages: ['missing', 'late'],
    reason: 'the subject itself',
  },
  // Phases that are reached only with a missing dependency.
  {
    from: 'Volume',
    to: ['Secret'],
    breakages: before,
    otherPhases: ['Failed'],
    reason: 'without its secret a volume fails before a driver is called',
  },
  {
    from: 'Volume',
    to: ['StorageClass', 'Snapshot'],
    breakages: ['wrong'],
    otherPhases: ['Pending'],
    reason: 'a volume without an allowed node, or without a Ready snapshot, is Pending',
  },
  {
    from: 'Volume',
    to: ['Service', 'Instance', 'Node'],
    otherPhases: ['Bound', 'Released', 'Available', 'Stalled', 'Failed', 'Pending', 'Provisioning'],
    reason: 'not attached',
  },
  {
    from: 'Volume',
    to: ['Instance', 'Node'],
    otherPhases: ['Bound'],
    reason: 'only a Bound volume is claimed by an instance, on a node',
  },
  {
    from: 'Volume',
    to: ['Service'],
    phases: ['Released'],
    reason: 'Released means that its service was already deleted',
  },
  {
    from: 'Volume',
    to: ['home'],
    breakages: ['missing', 'late'],
    otherPhases: ['Pending'],
    reason: 'a volume whose class allows only a missing node is Pending',
  },
  {
    from: 'Snapshot',
    to: ['home'],
    breakages: ['missing', 'late'],
    otherPhases: ['Pending'],
    reason: 'no snapshot of a volume begins before it is provisioned',
  },
  {
    from: 'Snapshot',
    to: ['Volume'],
    breakages: ['wrong'],
    otherPhases: ['Pending'],
    reason: 'no snapshot of a volume begins before it is provisioned',
  },
  {
    from: 'Snapshot',
    to: ['Secret'],
    breakages: before,
    otherPhases: ['Failed'],
    reason: 'without the secret a snapshot fails before a driver is called',
  },
  {
    from: 'Snapshot',
    to: ['StorageClass'],
    breakages: ['wrong'],
    reason: 'a snapshot uses the captured class of its source: no topology is read',
  },
  {
    from: 'Service',
    breakages: before,
    otherPhases: ['Pending'],
    to: ['Volume', 'StorageClass', 'Secret', 'Configmap', 'Node'],
    reason: 'no replica starts without it, and a replica that never started is deleted at once',
  },
  {
    from: 'Instance',
    breakages: before,
    otherPhases: ['Pending'],
    to: ['Volume', 'StorageClass', 'Secret', 'Configmap', 'Node'],
    reason: 'an instance does not start without it',
  },
  {
    from: 'Instance',
    phases: ['Unknown'],
    to: ['Node'],
    breakages: ['silent', 'deletedAlive'],
    reason: 'Unknown means that its node is already silent',
  },
  {
    from: 'Node',
    phases: ['NotReady'],
    breakages: ['silent', 'deletedAlive'],
    reason: 'NotReady means that it is already silent',
  },
  {
    from: 'Node',
    actions: ['recast'],
    phases: ['NotReady'],
    breakages: ['deleted'],
    reason: 'a missing object is not updated',
  },
];

function excludes(exclusion: Exclusion, { from, phase, broken, action }: Case): boolean {
  const { phases, otherPhases, to, breakages } = exclusion;
  return (
    (exclusion.from ?? from) === from &&
    (phases?.includes(phase) ?? true) &&
    !(otherPhases?.includes(phase) ?? false) &&
    (to?.includes(broken.to) ?? true) &&
    (breakages?.includes(broken.breakage) ?? true) &&
    (exclusion.actions?.includes(action) ?? true)
  );
}

/** The name of a case. */
export function nameOf({ from, phase, broken, action }: Case): string {
  return `${from} ${phase}, ${broken.to} ${broken.breakage}, ${action}`;
}

/** Every kind, phase, dependency, breakage and action; and the excluded ones by reason. Pure. */
export function generate(): {
  readonly cases: readonly Case[];
  readonly leftOut: readonly LeftOut[];
} {
  const cases: Case[] = [];
  const left = new Map<string, LeftOut>();
  for (const { from, to } of relations)
    for (const phase of phasesOf(from))
      for (const broken of brokenOf(to))
        for (const action of actions) {
          const one: Case = { from, phase, broken, action };
          const exclusion = exclusions.find((candidate) => excludes(candidate, one));
          if (!exclusion) {
            cases.push(one);
            continue;
          }
          const which = `${from} x ${broken.to} ${broken.breakage}`;
          const { reason } = exclusion;
          const id = `${which}: ${reason}`;
          const count = (left.get(id)?.count ?? 0) + 1;
          left.set(id, { which, reason, count });
        }
  return { cases, leftOut: [...left.values()] };
}
