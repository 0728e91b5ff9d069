import type { Capabilities, Driver } from '../contract/driver.js';
import { DriverError } from '../errors/errors.js';
import { type ParameterRule, sensitiveKeys, validateByRules } from '../contract/parameters.js';

/** The declaration of a driver without provider calls. */
export interface DriverDeclaration {
  readonly name: string;
  readonly provider: string;
  readonly parameters: readonly ParameterRule[];
  readonly capabilities: Omit<Capabilities, 'sensitiveParameters' | 'ownsData' | 'clone'>;
}

/**
 * A driver with capabilities and parameter checks whose calls are not implemented: each is refused as Unsupported.
 * Storage classes that name it are validated in full; their volumes fail.
 */
export function declaredDriver(declaration: DriverDeclaration): Driver {
  const { name, provider, parameters } = declaration;
  const message = `driver ${name} (${provider}) is not implemented in this release; use local or local-host`;
  const refuse = (): Promise<never> => Promise.reject(new DriverError('Unsupported', message));
  return {
    name,
    provider,
    capabilities: () => ({
      ...declaration.capabilities,
      clone: false,
      ownsData: true,
      sensitiveParameters: sensitiveKeys(parameters),
    }),
    validateParameters: (given, context) => validateByRules(parameters, given, context),
    check: () =>
      Promise.resolve([
        { permission: `driver ${name}`, state: 'missing', needed: 'every volume', message },
      ]),
    orphans: refuse,
    provision: refuse,
    observe: refuse,
    // This driver never provisions anything, so there is nothing to delete.
    delete: () => Promise.resolve(),
    attach: refuse,
    detach: () => Promise.resolve(),
    mount: refuse,
    unmount: () => Promise.resolve(),
    expand: refuse,
    createSnapshot: refuse,
    observeSnapshot: refuse,
    deleteSnapshot: () => Promise.resolve(),
    restore: refuse,
  };
}
