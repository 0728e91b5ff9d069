import {
  type CallContext,
  type Capabilities,
  type Driver,
  DriverError,
  isSecretReference,
  nodeTopologyKey,
  noSnapshots,
  onNode,
  requireParameters,
  type StorageSettings,
  validateByRules,
} from '@kedge/driver-sdk';
import { hostPathProblem, resolveHostPath } from './host-path.js';

const capabilities: Capabilities = {
  accessModes: ['ReadWriteOnce', 'ReadOnlyMany'],
  snapshots: false,
  clone: false,
  expand: false,
  onlineExpand: false,
  blockDevice: false,
  topologyKeys: [nodeTopologyKey],
  sensitiveParameters: [],
  ownsData: false,
};

const rules = [
  { key: 'hostPath', required: true },
  { key: 'createIfMissing', values: ['true', 'false'] },
];

/**
 * `local-host`: a directory of the host that belongs to the user (specification section 2.5). The path is checked
 * by text at admission, and by its real path at every use. Never deletes anything.
 */
export function createLocalHostDriver(settings: StorageSettings): Driver {
  const { hostPathAllowlist, hostPathDenylist } = settings;
  const resolve = (context: CallContext, create: boolean): Promise<string> =>
    onNode('resolve the hostPath', () =>
      resolveHostPath(context.parameters.hostPath ?? '', settings, create),
    );
  return {
    name: 'local-host',
    capabilities: () => capabilities,
    validateParameters(parameters, context) {
      const violations = [...validateByRules(rules, parameters, context)];
      const { hostPath } = parameters;
      if (hostPath !== undefined && hostPath !== '' && !isSecretReference(hostPath)) {
        const problem = hostPathProblem(hostPath, hostPathAllowlist, hostPathDenylist);
        if (problem !== undefined) violations.push({ key: 'hostPath', description: problem });
      }
      return violations;
    },
    check: async ({ parameters: { hostPath = '' } }) => {
      const list = '[storage].hostPathAllowlist';
      if (hostPath === '') {
        const row = { permission: list, needed: 'every volume' } as const;
        if (hostPathAllowlist.length > 0)
          return [{ ...row, state: 'ok', message: hostPathAllowlist.join(', ') }];
        const message = 'it is empty and allows no directory; add one, and restart kedged';
        return [{ ...row, state: 'missing', message }];
      }
      const row = {
        permission: 'parameter hostPath',
        needed: 'every volume of the class',
      } as const;
      return resolveHostPath(hostPath, settings, false).then(
        () => [{ ...row, state: 'ok' }],
        (thrown: unknown) => [
          { ...row, state: 'missing', message: DriverError.from(thrown).message },
        ],
      );
    },
    provision: async (request) => {
      requireParameters(validateByRules(rules, request.parameters, { level: 'resolved' }));
      const asked = request.parameters.createIfMissing === 'true';
      const handle = await resolve(request, asked && settings.allowCreateMissing);
      return { handle, sizeBytes: request.sizeBytes };
    },
    observe: async (request) => ({
      handle: await resolve(request, false),
      sizeBytes: undefined,
    }),
    delete: () => Promise.resolve(),
    attach: async (request) => {
      const real = await resolve(request, false);
      if (real !== request.handle)
        throw new DriverError(
          'InvalidParameters',
          `hostPath resolves to ${real}, and was ${request.handle} when the volume was provisioned; let it lead to that directory again`,
        );
      return { devicePath: '' };
    },
    detach: () => Promise.resolve(),
    mount: async (request) => ({ path: await resolve(request, false) }),
    unmount: () => Promise.resolve(),
    expand: () =>
      Promise.reject(new DriverError('Unsupported', "a host directory can't be expanded")),
    ...noSnapshots('local-host'),
  };
}
