import type {
  CallContext,
  DeleteRequest,
  HandleRequest,
  Parameters,
  ProvisionRequest,
  SnapshotRequest,
} from '../../contract/driver.js';
import type { SynchronousDriver } from '../../provider/synchronous-driver.js';
import { DriverError } from '../../errors/errors.js';
import type { Mutant } from './mutant.js';

/** Replaces the errors of some calls. */
function rethrowing(
  driver: SynchronousDriver,
  change: (error: unknown, request: { readonly parameters: Parameters }) => unknown,
): Partial<SynchronousDriver> {
  const changed =
    <R extends { readonly parameters: Parameters }, T>(call: (request: R) => Promise<T>) =>
    async (request: R): Promise<T> => {
      try {
        return await call(request);
      } catch (error) {
        throw change(error, request);
      }
    };
  return {
    observe: changed((request: DeleteRequest) => driver.observe(request)),
    attach: changed((request: HandleRequest) => driver.attach(request)),
    provision: changed((request: ProvisionRequest) => driver.provision(request)),
    createSnapshot: changed((request: SnapshotRequest) => driver.createSnapshot(request)),
  };
}

/** The credentials of a call, as a careless message shows them. */
function credentials(
  driver: SynchronousDriver,
  { parameters }: { readonly parameters: Parameters },
): string {
  const { sensitiveParameters } = driver.capabilities();
  return sensitiveParameters.map((key) => parameters[key] ?? '').join(' ');
}

/** Parameters without those that a driver refuses. */
function passable(driver: SynchronousDriver, { parameters }: CallContext): Parameters {
  const violations = driver.validateParameters(parameters, { level: 'resolved' });
  const refused = new Set(violations.map(({ key }) => key));
  return Object.fromEntries(Object.entries(parameters).filter(([key]) => !refused.has(key)));
}

/** Faults in refusals and their errors. */
export const errorMutants: readonly Mutant[] = [
  {
    name: 'errors-are-raw',
    breaks: 'Calls throw system errors instead of a DriverError.',
    silent: false,
    killedBy: 'errors-are-driver-errors',
    change: (driver) => rethrowing(driver, (error) => new Error(String(error))),
  },
  {
    name: 'absent-is-unavailable',
    breaks: 'Absent resources are reported as Unavailable and retried forever.',
    silent: false,
    killedBy: 'absent-volumes-are-not-found',
    change: (driver) =>
      rethrowing(driver, (error) =>
        error instanceof DriverError && error.kind === 'NotFound'
          ? new DriverError('Unavailable', error.message)
          : error,
      ),
  },
  {
    name: 'errors-quote-credentials',
    breaks: 'Error messages quote the credentials of the call.',
    silent: false,
    killedBy: 'credentials-stay-hidden',
    change: (driver) =>
      rethrowing(driver, (error, request) =>
        error instanceof DriverError
          ? new DriverError(error.kind, `${error.message} (${credentials(driver, request)})`)
          : error,
      ),
  },
  {
    name: 'causes-hold-credentials',
    breaks: "An error's cause is the provider's request with its credentials.",
    silent: false,
    killedBy: 'credentials-stay-hidden',
    change: (driver) =>
      rethrowing(driver, (error, request) =>
        error instanceof DriverError
          ? new DriverError(error.kind, error.message, {
              cause: { request: { headers: [credentials(driver, request)] } },
            })
          : error,
      ),
  },
  {
    name: 'handles-hold-credentials',
    breaks: 'Handles, which are not secret, contain the credentials of the call.',
    silent: true,
    killedBy: 'credentials-stay-hidden',
    change: (driver) => ({
      provision: async (request) => {
        const result = await driver.provision(request);
        return { ...result, handle: `${result.handle}?${credentials(driver, request)}` };
      },
    }),
  },
  {
    name: 'resolved-values-are-not-validated',
    breaks: 'Values that are invalid after references are resolved are accepted and ignored.',
    silent: true,
    killedBy: 'resolved-values-are-validated',
    change: (driver) => ({
      provision: (request) =>
        driver.provision({ ...request, parameters: passable(driver, request) }),
    }),
  },
  {
    name: 'references-are-validated',
    breaks: 'References are rejected before they are resolved.',
    silent: false,
    killedBy: 'references-are-accepted',
    change: (driver) => ({
      validateParameters: (parameters, context) => [
        ...driver.validateParameters(parameters, context),
        ...Object.entries(parameters)
          .filter(([, value]) => value.startsWith('secret:'))
          .map(([key]) => ({ key, description: 'is a reference' })),
      ],
    }),
  },
  {
    name: 'unknown-parameters-pass',
    breaks: 'A parameter that the driver does not know is accepted.',
    silent: false,
    killedBy: 'unknown-parameters-are-named',
    change: (driver) => ({
      validateParameters: (parameters, context) => {
        const found = driver.validateParameters(parameters, context);
        return found.filter(({ key }) => key !== 'no-such-parameter');
      },
    }),
  },
];
