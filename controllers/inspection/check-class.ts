import type { ObjectStore } from 'kedge';
import {
  DriverError,
  isSecretReference,
  type Parameters,
  type PermissionReport,
} from '@kedge/driver-sdk';
import { parameterRefused } from '@kedge/driver-sdk/messages';
import { type Node, nodes } from '../node/kind.js';
import { isSealed } from '../secret/index.js';
import type { StorageClass } from '../storage-class/kind.js';
import { chooseTopology, labelsOf, namedTopology } from '../storage-class/topology.js';
import {
  asAnswer,
  callWith,
  type ClassParameters,
  classParameters,
  type InspectionOptions,
} from './class-call.js';

const everyVolume = 'every volume of the class';

/** The result of a check. */
export interface CheckedClass {
  readonly driver: string;
  readonly provider: string;
  readonly reports: readonly PermissionReport[];
}

/** Resolves each parameter by itself, so that each missing secret has a row. */
function resolveEach(
  { resolver }: InspectionOptions,
  { parameters, holder }: ClassParameters,
): { readonly resolved: Parameters; readonly reports: readonly PermissionReport[] } {
  const resolved: Record<string, string> = {};
  const reports: PermissionReport[] = [];
  for (const [key, value] of Object.entries(parameters))
    try {
      Object.assign(resolved, resolver.resolve({ [key]: value }, holder));
    } catch (thrown) {
      reports.push(parameterReport(key, 'missing', messageOf(thrown, key)));
    }
  return { resolved, reports };
}

function messageOf(thrown: unknown, key: string): string {
  return asAnswer(DriverError.from(thrown)).replace(parameterRefused.format({ key }), '');
}

function parameterReport(
  key: string,
  state: PermissionReport['state'],
  message: string,
): PermissionReport {
  return { permission: `parameter ${key}`, state, needed: everyVolume, message };
}

/** @param resolved the parameters in plaintext; undefined if the value of one is missing, which others may require */
function violationReports(
  { driver, parameters }: ClassParameters,
  resolved: Parameters | undefined,
): readonly PermissionReport[] {
  const declared = driver.validateParameters(parameters, { level: 'volume' });
  const broken = new Map(declared.map((violation) => [violation.key, violation.description]));
  for (const { key, description } of resolved
    ? driver.validateParameters(resolved, { level: 'resolved' })
    : [])
    if (!broken.has(key) && resolved && key in resolved) broken.set(key, description);
  return [...broken].map(([key, description]) => parameterReport(key, 'missing', description));
}

/** Where the volumes of the class are placed, as far as it can be known without the provider. */
function placeReports(
  { driver, parameters }: ClassParameters,
  storageClass: StorageClass,
  all: readonly Node[],
  here: string,
): readonly PermissionReport[] {
  const capabilities = driver.capabilities();
  const { placeParameters = {}, requiredTopologyKeys = [] } = capabilities;
  const reports: PermissionReport[] = [];
  const named = namedTopology(parameters, placeParameters).labels;
  const choice = chooseTopology(storageClass, all, capabilities, here, named);
  if (choice.type === 'none') {
    const unnamed = requiredTopologyKeys.find((label) => named[label] === undefined);
    const [key] = unnamed === undefined ? [] : (placeParameters[unnamed] ?? []);
    const permission = key === undefined ? 'allowedTopologies' : `parameter ${key}`;
    reports.push({ permission, state: 'missing', needed: everyVolume, message: choice.message });
  }
  const node = all.find(({ name }) => name === here);
  for (const [label, keys] of Object.entries(placeParameters)) {
    const key = keys.find((one) => (parameters[one] ?? '') !== '');
    const value = key === undefined ? undefined : parameters[key];
    if (key === undefined || value === undefined) continue;
    // The value of a reference may be a secret.
    if (isSecretReference(value) || isSealed(value)) continue;
    const labelled = node && labelsOf(node)[label];
    if (labelled !== undefined && labelled !== value) {
      const message = `is ${JSON.stringify(value)}, and node ${here} has label ${label}=${labelled}: volumes of the class can't be attached to this node`;
      reports.push(parameterReport(key, 'missing', message));
      continue;
    }
    const message = `is ${JSON.stringify(value)}: whether the provider has it is known at the first volume`;
    reports.push(parameterReport(key, 'unknown', message));
  }
  return reports;
}

/** The parameters of the place that a volume of the class would get from a node, as far as the class names none. */
function placeOfNode(
  { driver, parameters }: ClassParameters,
  storageClass: StorageClass,
  all: readonly Node[],
  here: string,
): Parameters {
  const capabilities = driver.capabilities();
  const { placeParameters = {}, requiredTopologyKeys = [] } = capabilities;
  const { labels, references } = namedTopology(parameters, placeParameters);
  const choice = chooseTopology(storageClass, all, capabilities, here, labels);
  if (choice.type === 'none') return {};
  const open = requiredTopologyKeys.flatMap((label) => {
    const [key] = placeParameters[label] ?? [];
    const value = choice.topology[label];
    const isNamed = labels[label] !== undefined || references[label] !== undefined;
    return isNamed || key === undefined || value === undefined ? [] : [[key, value] as const];
  });
  return Object.fromEntries(open);
}

/**
 * The reports of the driver. Without the value of a parameter it is not asked: it would report the lack of a credential
 * that the class names, or use another one, such as that of the machine.
 */
async function driverReports(
  options: InspectionOptions,
  of: ClassParameters,
  {
    resolved,
    reports,
  }: { readonly resolved: Parameters; readonly reports: readonly PermissionReport[] },
  signal: AbortSignal,
): Promise<readonly PermissionReport[]> {
  const { driver, request } = callWith(options, of, resolved, signal);
  const row = { permission: `driver ${driver.name}`, needed: everyVolume } as const;
  if (reports.length > 0) {
    const missing = reports.map(({ permission }) => permission).join(', ');
    return [{ ...row, state: 'unknown', message: `not asked without the value of ${missing}` }];
  }
  if (!driver.check)
    return [{ ...row, state: 'unknown', message: 'the driver checks only its parameters' }];
  try {
    return await driver.check(request);
  } catch (thrown) {
    return [{ ...row, state: 'unknown', message: DriverError.from(thrown).message }];
  }
}

/** Checks what volumes of a class need. Changes nothing. @param namespace namespace of secret references without one */
export async function checkClass(
  options: InspectionOptions & { readonly store: ObjectStore },
  storageClass: StorageClass,
  namespace: string,
  signal: AbortSignal,
): Promise<CheckedClass> {
  const of = await classParameters(options, storageClass, { namespace, name: 'check' });
  const { resolved, reports } = resolveEach(options, of);
  const all = (await options.store.list(nodes)).items;
  const place = placeOfNode(of, storageClass, all, options.here);
  const found = [
    ...reports,
    ...violationReports(of, reports.length === 0 ? resolved : undefined),
    ...placeReports(of, storageClass, all, options.here),
    ...(await driverReports(options, of, { resolved: { ...resolved, ...place }, reports }, signal)),
  ];
  const { name, provider = '' } = of.driver;
  // The first row about a parameter has the cause.
  const byName = new Map([...found].reverse().map((report) => [report.permission, report]));
  return { driver: name, provider, reports: [...byName.values()].reverse() };
}
