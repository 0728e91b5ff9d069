import { type ApiObject, type FieldViolation, invalid, type Kind, type Lister } from 'kedge';
import type { AdmissionContext } from 'kedge/server';
import { type Driver, DriverError, type Parameters } from '@kedge/driver-sdk';
import { parameterRefused } from '@kedge/driver-sdk/messages';
import type { Secret } from './kind.js';
import { openSecret } from './admission.js';
import { parameterReference } from '../references/secret-reference.js';
import { confidentialDriver, openHandle } from './confidential-driver.js';
import { Redaction } from './redaction.js';
import { type Holder, isSealed, mask, maskViolation, type Sealer } from './sealer.js';
import { inputMessages } from '../messages/inputs.js';

/** Resolves references and opens sealed literals for a driver call. */
export interface ParameterResolver {
  /**
   * Returns the parameters in plaintext.
   * @param holder the object with the parameters, or of the call
   * @throws DriverError InvalidParameters for a malformed reference, and for a secret or key that is missing or empty
   * (specification 5.2.4); StatusError Internal if a value can't be opened
   */
  resolve(parameters: Parameters, holder: Holder): Parameters;
  /**
   * Rebinds sealed parameters to another object. A value that can't be opened is kept unchanged: its use reports
   * the error.
   */
  rebind(parameters: Parameters, from: Holder, to: Holder): Parameters;
  /**
   * A driver that does not disclose the values of sealed literals and references.
   * @param wanted the parameters as stored. @param resolved the same in plaintext
   */
  confidential(driver: Driver, wanted: Parameters, resolved: Parameters): ConfidentialCalls;
  /** A handle in the driver's form. @throws StatusError Internal if it can't be opened */
  openHandle(handle: string): string;
}

/** A driver that redacts the values of one set of parameters, and the redaction itself. */
export interface ConfidentialCalls {
  readonly driver: Driver;
  /** Redacts the same values in errors and texts that do not come from `driver`. */
  readonly redaction: Redaction;
}

/** The end of messages about missing secrets. A call that is not retried replaces it. */
export const retried = ', and the operation is retried automatically';

/** A resolver over a cache of secrets. */
export function parameterResolver(secrets: Lister<Secret>, sealer: Sealer): ParameterResolver {
  const valueOf = (key: string, value: string, holder: Holder): string => {
    if (isSealed(value)) return sealer.open(value, { holder, key });
    const parsed = parameterReference(key, value, holder.namespace ?? '');
    if (parsed.type === 'literal') return value;
    if (parsed.type === 'malformed')
      throw new DriverError(
        'InvalidParameters',
        `${parameterRefused.format({ key })}${parsed.rule}`,
      );
    const { reference } = parsed;
    const object = `${reference.namespace}/${reference.name}`;
    const secret = secrets.get(object);
    if (!secret)
      throw new DriverError(
        'InvalidParameters',
        `${parameterRefused.format({ key })}${inputMessages.secret.missing.format({ object })}; create it${retried}`,
      );
    const found = openSecret(sealer, secret)[reference.key];
    if (found === undefined)
      throw new DriverError(
        'InvalidParameters',
        `${parameterRefused.format({ key })}${inputMessages.secret.keyMissing.format({ object, key: reference.key })}; add it${retried}`,
      );
    // Drivers treat an empty parameter as absent: other credentials would be used, or another place.
    if (found === '')
      throw new DriverError(
        'InvalidParameters',
        `${parameterRefused.format({ key })}${inputMessages.secret.keyEmpty.format({ object, key: reference.key })}; set it, or omit the parameter${retried}`,
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

/** The stored parameters that a write replaces. */
export interface StoredParameters {
  readonly parameters: Parameters | undefined;
  /** Whether the writer may read sealed values. */
  readonly reveals: boolean;
}

/** Returns the stored parameters of `object` for {@link sealParameters}; undefined for a new object. */
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
      return value; // an unopenable value is reported by its use, which may have other values
    }
  };
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, copied(key, value)]),
  );
}

/** How {@link sealParameters} treats the parameters of a write. */
export interface Sealing {
  readonly sealer: Sealer;
  /** The object that the values are sealed for. */
  readonly holder: Holder;
  /** Keys whose literals are sealed; undefined if the driver is unknown. */
  readonly sensitive: readonly string[] | undefined;
  /** Undefined for a new object. */
  readonly stored: StoredParameters | undefined;
  /** The field of the parameters, for violations. */
  readonly field: string;
}

/**
 * Parameters with sensitive literals sealed. A mask keeps the sealed value of its key. A literal that equals the stored
 * value keeps it only if the writer may read the stored value; otherwise it is sealed like a new one. A stored value whose
 * key is lost is replaced like any other.
 * @throws StatusError InvalidArgument for a mask of a key without a sealed value: it would become the value
 */
export function sealParameters(
  parameters: Parameters | undefined,
  sealing: Sealing,
): Parameters | undefined {
  if (!parameters) return undefined;
  const { stored, sensitive, field } = sealing;
  const masks = Object.entries(parameters).filter(([key, value]) => {
    const before = ownValue(stored?.parameters, key);
    if (value !== mask || value === before) return false;
    return before === undefined || !isSealed(before) || sensitive?.includes(key) === false;
  });
  if (masks.length > 0) throw invalid(masks.map(([key]) => maskViolation(`${field}.${key}`)));
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, storedValue(key, value, sealing)]),
  );
}

function storedValue(key: string, value: string, sealing: Sealing): string {
  const { sealer, holder, sensitive, stored } = sealing;
  const before = ownValue(stored?.parameters, key);
  if (value === mask && before !== undefined) return before;
  if (!sensitive?.includes(key) || value.startsWith('secret:')) return value;
  const place = { holder, key };
  if (before !== undefined && isSealed(before)) {
    if (value === before) return before;
    const same = stored?.reveals && sealer.openIfPossible(before, place) === value;
    if (same) return before;
  }
  // Sealed for this object, for example by a restore. Otherwise it is plain text with the same prefix.
  if (isSealed(value) && sealer.isBoundTo(value, place)) return value;
  return sealer.seal(value, place);
}

function ownValue(parameters: Parameters | undefined, key: string): string | undefined {
  return parameters && Object.hasOwn(parameters, key) ? parameters[key] : undefined;
}

/** Parameters masked for clients. */
export function maskParameters(parameters: Parameters | undefined): Parameters | undefined {
  if (!parameters) return undefined;
  return Object.fromEntries(
    Object.entries(parameters).map(([key, value]) => [key, isSealed(value) ? mask : value]),
  );
}

/**
 * The violations of references in parameters: malformed ones, and secrets of other namespaces that the writer may
 * not read. Whether a secret exists is checked at its use.
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
        description: `refers to a secret in namespace ${target}, which you are not permitted to read; request a policy that permits get on secrets there`,
      });
  }
  return violations;
}
