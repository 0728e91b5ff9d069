import type { Parameters } from '../../contract/driver.js';
import type { Check } from '../check.js';
import { assert } from '../failure.js';
import { labelOf, requireContent, requireEmpty, writeContent } from '../content.js';
import { kindOf, requireKind, requireRefusal } from '../require-kind.js';
import type { Trial } from '../trial.js';

const wrongCredential = 'kedge-conformance-wrong-credential';

/** Makes calls that a driver may refuse, and ignores their results; {@link watchedDriver} checks their errors. */
async function provokeErrors(trial: Trial, parameters: Parameters): Promise<void> {
  const driver = await trial.driver();
  const { handle } = await trial.provision();
  const context = { ...trial.context(trial.identity()), parameters };
  const call = { ...context, handle };
  await kindOf(driver.observe({ ...context, handle: undefined }));
  await kindOf(driver.observe(call));
  await kindOf(driver.attach(call));
  await kindOf(driver.expand({ ...call, sizeBytes: trial.sizeBytes }));
  const request = { ...call, snapshot: trial.snapshotIdentity() };
  await kindOf(driver.createSnapshot(request));
  await kindOf(driver.observeSnapshot({ ...request, handle: undefined }));
}

/** Checks of refusals, their errors, and values that errors must not contain. */
export const errors: readonly Check[] = [
  {
    name: 'errors-are-driver-errors',
    behaviour: 'every refusal is a DriverError',
    needs: [],
    body: (trial) => provokeErrors(trial, trial.parameters),
  },
  {
    name: 'credentials-stay-hidden',
    behaviour: 'answers and errors do not contain values of sensitive parameters',
    needs: ['sensitiveParameters'],
    body: async (trial) => {
      await provokeErrors(trial, trial.parameters);
      const { sensitiveParameters } = trial.capabilities;
      const wrong = Object.fromEntries(sensitiveParameters.map((key) => [key, wrongCredential]));
      const parameters = { ...trial.parameters, ...wrong };
      const driver = await trial.driver();
      for (const level of ['class', 'volume', 'resolved'] as const)
        for (const { key, description } of driver.validateParameters(parameters, { level }))
          assert(
            !description.includes(wrongCredential),
            `validateParameters quotes the value of ${key}`,
          );
      // Success proves nothing: some providers check the credential later.
      await kindOf(driver.provision({ ...trial.request(trial.identity()), parameters }));
    },
  },
  {
    name: 'unknown-parameters-are-named',
    behaviour: 'validateParameters names a parameter that the driver does not know',
    needs: [],
    body: async (trial) => {
      const driver = await trial.driver();
      for (const level of ['class', 'volume', 'resolved'] as const) {
        const parameters = { ...trial.parameters, 'no-such-parameter': 'x' };
        const found = driver.validateParameters(parameters, { level });
        assert(
          found.some(({ key }) => key === 'no-such-parameter'),
          `at level "${level}" the driver accepts an unknown parameter`,
        );
        const own = driver.validateParameters(trial.parameters, { level });
        const first = own[0];
        assert(
          first === undefined,
          `at level "${level}" the driver rejects the valid parameter ${first?.key ?? ''}: ${first?.description ?? ''}`,
        );
      }
    },
  },
  {
    name: 'references-are-accepted',
    behaviour:
      'before references are resolved, validateParameters accepts a secret reference as the value of each parameter',
    needs: [],
    body: async (trial) => {
      const driver = await trial.driver();
      if (Object.keys(trial.parameters).length === 0)
        trial.leaveOut('the option "parameters" is not set');
      for (const level of ['class', 'volume'] as const)
        for (const key of Object.keys(trial.parameters)) {
          const parameters = { ...trial.parameters, [key]: 'secret:settings.default.svc/value' };
          const [found] = driver.validateParameters(parameters, { level });
          assert(
            found === undefined,
            `at level "${level}" the driver rejects a reference in ${key}: ${found?.description ?? ''}`,
          );
        }
    },
  },
  {
    name: 'resolved-values-are-validated',
    behaviour:
      'provision rejects values that are invalid after references are resolved, and creates no resource',
    needs: ['invalidParameters'],
    body: async (trial) => {
      for (const invalid of trial.options.invalidParameters ?? []) {
        const what = JSON.stringify(invalid);
        const parameters = { ...trial.parameters, ...invalid };
        const volume = trial.identity();
        const driver = await trial.driver();
        const violations = driver.validateParameters(parameters, { level: 'resolved' });
        assert(violations.length > 0, `validateParameters accepts ${what}`);
        const made = driver.provision({ ...trial.request(volume), parameters });
        await requireKind(`provision with ${what}`, made, 'InvalidParameters');
        if (!trial.capabilities.ownsData) continue;
        const observed = driver.observe({ ...trial.context(volume), handle: undefined });
        await requireKind(`observe after provision with ${what}`, observed, 'NotFound');
      }
    },
  },
  {
    name: 'foreign-handles-reach-nothing',
    behaviour: "calls with another volume's handle are rejected, or do not change that volume",
    needs: ['ownsData', 'content'],
    body: async (trial) => {
      const mine = await trial.provision();
      const other = await trial.provision();
      await trial.mounted(other, (path) => writeContent(path, 'other'));
      const mixed = { volume: mine.volume, handle: other.handle };
      const driver = await trial.driver();
      const request = await trial
        .mountRequest(mixed)
        .catch((error: unknown) => ({ refused: error }));
      if (!('refused' in request)) {
        // If the call succeeds, it must have used the volume of the identity.
        const mounted = await trial.mountAs(request);
        const label = await labelOf(mounted.path);
        assert(
          label === undefined,
          `the mounted content "${label ?? ''}" belongs to another volume`,
        );
        await requireEmpty(mounted.path, 'mounted with the handle of another volume');
        await trial.release(mounted);
      }
      if (trial.capabilities.expand)
        await kindOf(driver.expand({ ...trial.call(mixed), sizeBytes: trial.sizeBytes * 2n }));
      await kindOf(driver.detach(trial.call(mixed)));
      await kindOf(trial.delete(mixed));
      const found = await driver.observe({ ...trial.context(other.volume), handle: other.handle });
      assert(found.handle === other.handle, `observe returns handle ${found.handle}`);
      await trial.mounted(other, (path) =>
        requireContent(path, 'other', 'after calls with its handle for another volume'),
      );
    },
  },
  {
    name: 'stale-handles-are-refused',
    behaviour: 'the handle of a deleted volume gives no access to a later volume of the same name',
    needs: ['ownsData'],
    body: async (trial) => {
      const stale = await trial.provision();
      await trial.delete(stale);
      const fresh = await trial.provision(trial.identity(undefined, stale.volume.name));
      const driver = await trial.driver();
      const { handle } = stale;
      assert(handle !== fresh.handle, 'the new volume has the handle of the deleted one');
      const attached = driver.attach(trial.call({ volume: fresh.volume, handle }));
      await requireRefusal('attach with the handle of a deleted volume', attached);
    },
  },
  {
    name: 'teardown-validates-nothing',
    behaviour:
      'detach and delete of a provisioned volume are not rejected because of its parameters',
    needs: ['ownsData', 'invalidParameters'],
    body: async (trial) => {
      for (const invalid of trial.options.invalidParameters ?? []) {
        const made = await trial.provision();
        const driver = await trial.driver();
        await driver.attach(trial.call(made));
        await driver.detach(trial.call(made));
        const parameters = { ...trial.parameters, ...invalid };
        const request = { ...trial.call(made), parameters };
        const what = `with ${JSON.stringify(invalid)}`;
        const detached = await kindOf(driver.detach(request));
        assert(detached !== 'InvalidParameters', `detach ${what} is rejected`);
        const deleted = await kindOf(driver.delete(request));
        assert(deleted !== 'InvalidParameters', `delete ${what} is rejected`);
      }
    },
  },
];
