import type { ApiObject, FieldViolation, Kind, Lister } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import { type Driver, DriverError, type Parameters } from '@kedge/driver-sdk';
import type { Secret } from './kind.js';
import { openSecret } from './admission.js';
import { parameterReference, parseReference, referenceRule } from './reference.js';
import { confidentialDriver, openHandle } from './confidential-driver.js';
import { Redaction } from './redaction.js';
import { type Holder, isSealed, mask, type Sealer } from './sealer.js';

/** Replaces references by values and opens sealed literals, for a driver call. */
export interface ParameterResolver {
  /**
   * @param holder the object that holds the parameters, or is called for
   * @throws DriverError InvalidParameters naming the missing secret or key (specification 5.2.4)
   */
  resolve(parameters: Parameters, holder: Holder): Parameters;
  /**
   * Parameters of one object as another one may hold them: what is sealed is bound to that one. A value
   * that does not open stays as it is: whoever uses it is told.
   */
  rebind(parameters: Parameters, from: Holder, to: Holder): Parameters;
  /**
   * A driver that tells no value which the parameters hold.
   * @param wanted the parameters as stored. @param resolved the same in plaintext
   */
  confidential(driver: Driver, wanted: Parameters, resolved: Parameters): ConfidentialCalls;
  /** A handle as its driver knows it. @throws StatusError Internal when it can't be opened */
  openHandle(handle: string): string;
}

/** A driver for one set of parameters. */
export interface ConfidentialCalls {
  readonly driver: Driver;
  /** For what is told beside the driver. */
  readonly redaction: Redaction;
}

/** A resolver over a cache of secrets. */
export function parameterResolver(secrets: Lister<Secret>, sealer: Sealer): ParameterResolver {
  const valueOf = (key: string, value: string, holder: Holder): string => {
    if (isSealed(value)) return sealer.open(value, { holder, key });
    const parsed = parseReference(value, holder.namespace ?? '');
    if (parsed.type === 'literal') return value;
    if (parsed.type === 'malformed')
      throw new DriverError('InvalidParameters', `parameter ${key}: ${referenceRule}`);
    const { reference } = parsed;
    const secret = secrets.get(`${reference.namespace}/${reference.name}`);
    const where = `${reference.namespace}/${reference.name}`;
    if (!secret)
      throw new DriverError(
        'InvalidParameters',
        `parameter ${key}: secret ${where} does not exist; create it, and what waits for it goes on by itself`,
      );
    const found = openSecret(sealer, secret)[reference.key];
    if (found === undefined)
      throw new DriverError(
        'InvalidParameters',
        `parameter ${key}: secret ${where} has no key ${reference.key}; add it, and what waits for it goes on by itself`,
      );
    return found;
  };
  return {
    confidential(driver, wanted, resolved) {
      const redaction = new Redaction(wanted, resolved);
      return { driver: confidentialDriver(driver, redaction, sealer), redaction };
    },
    openHandle: (handle) => openHandle(sealer, handle),
    resolve: (parameters, holder) =>
      Object.fromEntries(
        Object.entries(parameters).map(([key, value]) => [key, valueOf(key, value, holder)]),
      ),
    rebind: (parameters, from, to) => rebindParameters(sealer, parameters, from, to),
  };
}

/** Parameters as they are stored, when others are written over them. */
export interface StoredParameters {
  readonly parameters: Parameters | undefined;
  /** Whether the writer may know what is sealed. */
  readonly reveals: boolean;
}

/** What is stored of `object`, for {@link sealParameters}. */
export async function storedParameters<T extends ApiObject>(
  context: AdmissionContext,
  kind: Kind<T>,
  object: T | undefined,
  parametersOf: (object: T) => Parameters | undefined,
): Promise<StoredParameters | undefined> {
  if (!object) return undefined;
  return { parameters: parametersOf(object), reveals: await context.reveals(kind, object) };
}

/** See {@link ParameterResolver.rebind}. */
export function rebindParameters(
  sealer: Sealer,
  parameters: Parameters,
  from: Holder,
  to: Holder,
): Parameters {
  const copied = (key: string, value: string): string => {
    if (!isSealed(value)) return value;
    try {
      return sealer.rebind(value, { holder: from, key }, to);
    } catch {
      return value; // what opens nowhere is told by its use, which has other values to fall back to
    }
  };
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, copied(key, value)]),
  );
}

/**
 * Parameters of `holder` with sensitive literals sealed. A mask keeps the stored value. A literal that is
 * the stored value is sealed anew, unless the writer may know that it is.
 */
export function sealParameters(
  sealer: Sealer,
  holder: Holder,
  parameters: Parameters | undefined,
  sensitive: readonly string[],
  before: StoredParameters | undefined,
): Parameters | undefined {
  if (!parameters) return undefined;
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => {
      if (!sensitive.includes(key) || value.startsWith('secret:')) return [key, value];
      const place = { holder, key };
      const stored = before?.parameters?.[key];
      if (stored !== undefined && isSealed(stored)) {
        if (value === mask || value === stored) return [key, stored];
        const same = before?.reveals && sealer.open(stored, place) === value;
        if (same) return [key, stored];
      }
      // Made for this object, such as by a restore. Anything else is somebody's own text that begins like one.
      if (isSealed(value) && sealer.isBoundTo(value, place)) return [key, value];
      return [key, sealer.seal(value, place)];
    }),
  );
}

/** Parameters as clients may see them. */
export function maskParameters(parameters: Parameters | undefined): Parameters | undefined {
  if (!parameters) return undefined;
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, isSealed(value) ? mask : value]),
  );
}

/**
 * What is wrong with the references among parameters: malformed ones, and secrets of other
 * namespaces that the writer may not read. Whether a secret exists is found out when it is used.
 */
export async function referenceViolations(
  context: AdmissionContext,
  parameters: Parameters | undefined,
  namespace: string | undefined,
): Promise<readonly FieldViolation[]> {
  const violations: FieldViolation[] = [];
  for (const [key, value] of Object.entries(parameters ?? {})) {
    const field = `parameters.${key}`;
    const parsed = parameterReference(key, value, namespace ?? '');
    if (parsed.type === 'malformed')
      violations.push({
        field,
        description: `${JSON.stringify(value)} is malformed: ${parsed.rule}`,
      });
    if (parsed.type !== 'reference') continue;
    const target = parsed.reference.namespace;
    if (target === '' || target === namespace) continue;
    if (!(await context.can('secrets', 'get', target)))
      violations.push({
        field,
        description: `refers to a secret in namespace ${target}, which you may not read; ask for a policy that allows get on secrets there`,
      });
  }
  return violations;
}
