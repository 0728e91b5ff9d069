import { DriverError } from '../errors/errors.js';
import type { PermissionReport } from '../contract/provider-report.js';
import type { OptionalPackage } from './optional-package.js';

/** Whether the optional package of a driver can be used; `load` throws if not. */
export function packageReport({ name }: OptionalPackage, load: () => unknown): PermissionReport {
  const row = { permission: `package ${name}`, needed: 'every call of the provider' } as const;
  try {
    load();
  } catch (thrown) {
    return { ...row, state: 'missing', message: DriverError.from(thrown).message };
  }
  return { ...row, state: 'ok' };
}

/** Errors without an answer of the provider, or with one such as status 503. */
const unanswered: readonly DriverError['kind'][] = ['Unavailable', 'Timeout'];

async function errorOf(read: () => Promise<unknown>): Promise<DriverError | undefined> {
  return read().then(
    () => undefined,
    (thrown: unknown) => DriverError.from(thrown),
  );
}

/** Whether the provider answers at its endpoint; a refusal is an answer, except one of kind Unavailable or Timeout. */
export async function endpointReport(
  endpoint: string,
  read: () => Promise<unknown>,
): Promise<PermissionReport> {
  const row = { permission: `endpoint ${endpoint}`, needed: 'every call of the provider' } as const;
  const error = await errorOf(read);
  if (!error || error.operation !== undefined || !unanswered.includes(error.kind))
    return { ...row, state: 'ok' };
  return { ...row, state: 'missing', message: error.message };
}

/** The row of a permission after a read that needs it. NotFound is an answer to a permitted read. */
export async function probed(
  row: Pick<PermissionReport, 'permission' | 'needed'>,
  read: () => Promise<unknown>,
): Promise<PermissionReport> {
  const { permission, needed } = row;
  const error = await errorOf(read);
  if (!error || error.kind === 'NotFound') return { permission, state: 'ok', needed };
  // An operation that can't be observed is reported as Timeout with its id.
  const missing =
    error.operation !== undefined ||
    ['CredentialsRejected', 'PermissionDenied'].includes(error.kind);
  return { permission, state: missing ? 'missing' : 'unknown', needed, message: error.message };
}

/** The rows of a class without a credential: `thrown` names the parameter and the remedy. */
export function withoutCredential(
  parameter: string,
  thrown: unknown,
  rows: readonly PermissionReport[],
  message: string,
): readonly PermissionReport[] {
  const missing = {
    permission: `parameter ${parameter}`,
    state: 'missing',
    needed: 'every call of the provider',
    message: DriverError.from(thrown).message,
  } as const;
  return [missing, ...rows.map((row) => ({ ...row, state: 'unknown' as const, message }))];
}
