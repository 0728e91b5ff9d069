import type { Driver, Pending, PermissionReport } from '@kedge/driver-sdk';
import type { Redaction } from './redaction.js';
import { isSealed, mask, type Sealer, unboundPlace } from './sealer.js';

/** Associated data of a sealed handle. */
const handlePlace = unboundPlace('handle');

/** Returns a handle for display, without confidential parts; undefined for no handle. */
export function shownHandle(handle: string | undefined): string | undefined {
  return handle !== undefined && isSealed(handle) ? mask : handle;
}

/** A handle in the driver's form. @throws StatusError Internal when it can't be opened */
export function openHandle(sealer: Sealer, handle: string): string {
  return isSealed(handle) ? sealer.open(handle, handlePlace) : handle;
}

/**
 * Wraps a driver so that its errors, reports and warnings do not disclose confidential parameter values. A handle that
 * contains a value, such as the path of a host directory, is sealed, and opened for the driver.
 */
export function confidentialDriver(driver: Driver, redaction: Redaction, sealer: Sealer): Driver {
  const opened = <R extends { readonly handle: string | undefined }>(request: R): R =>
    request.handle === undefined
      ? request
      : { ...request, handle: openHandle(sealer, request.handle) };
  const sealed = <R extends { readonly handle: string } | Pending>(result: R): R =>
    'handle' in result && redaction.holds(result.handle)
      ? { ...result, handle: sealer.seal(result.handle, handlePlace) }
      : result;
  const guard = redaction.guard.bind(redaction);
  const { provider } = driver;
  // A driver may be an object of a class.
  const check = driver.check?.bind(driver);
  const orphans = driver.orphans?.bind(driver);
  const find = driver.find?.bind(driver);
  const load = driver.load?.bind(driver);
  const recentCalls = driver.recentCalls?.bind(driver);
  return {
    name: driver.name,
    ...(provider === undefined ? {} : { provider }),
    ...(check
      ? {
          check: (request) =>
            guard(async () => (await check(request)).map((one) => redactedReport(one, redaction))),
        }
      : {}),
    ...(orphans
      ? {
          orphans: (request) =>
            guard(async () => {
              const { resources, warnings } = await orphans(request);
              return { resources, warnings: warnings.map((text) => redaction.text(text)) };
            }),
        }
      : {}),
    ...(find ? { find: (request) => guard(() => find(request)) } : {}),
    ...(recentCalls ? { recentCalls } : {}),
    ...(load ? { load } : {}),
    capabilities: () => driver.capabilities(),
    validateParameters: (parameters, context) => driver.validateParameters(parameters, context),
    provision: (request) => guard(async () => sealed(await driver.provision(request))),
    observe: (request) => guard(async () => sealed(await driver.observe(opened(request)))),
    delete: (request) => guard(() => driver.delete(opened(request))),
    attach: (request) => guard(() => driver.attach(opened(request))),
    detach: (request) => guard(() => driver.detach(opened(request))),
    mount: (request) => guard(() => driver.mount(opened(request))),
    unmount: (request) => guard(() => driver.unmount(opened(request))),
    expand: (request) => guard(() => driver.expand(opened(request))),
    createSnapshot: (request) =>
      guard(async () => sealed(await driver.createSnapshot(opened(request)))),
    observeSnapshot: (request) =>
      guard(async () => sealed(await driver.observeSnapshot(opened(request)))),
    deleteSnapshot: (request) => guard(() => driver.deleteSnapshot(opened(request))),
    restore: (request) =>
      guard(async () =>
        sealed(await driver.restore({ ...request, snapshot: opened(request.snapshot) })),
      ),
  };
}

function redactedReport(report: PermissionReport, redaction: Redaction): PermissionReport {
  const { permission, message } = report;
  return {
    ...report,
    permission: redaction.text(permission),
    ...(message === undefined ? {} : { message: redaction.text(message) }),
  };
}
