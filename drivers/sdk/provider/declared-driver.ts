import type { Capabilities, Driver } from '../contract/driver.js';
import { DriverError } from '../contract/errors.js';
import { type ParameterRule, sensitiveKeys, validateByRules } from '../contract/parameters.js';

/** What is known of a driver before its provider calls exist. */
export interface DriverDeclaration {
  readonly name: string;
  readonly parameters: readonly ParameterRule[];
  readonly capabilities: Omit<Capabilities, 'sensitiveParameters' | 'ownsData' | 'clone'>;
}

/**
 * A driver that is registered with its capabilities and parameter checks, and says of every call
 * that this release does not make it. Classes that name it are judged fully; volumes fail plainly.
 */
export function declaredDriver(declaration: DriverDeclaration): Driver {
  const { name, parameters } = declaration;
  const refuse = (): Promise<never> =>
    Promise.reject(
      new DriverError(
        'Unsupported',
        `driver ${name} can't provision yet in this release; use local or local-host`,
      ),
    );
  return {
    name,
    capabilities: () => ({
      ...declaration.capabilities,
      clone: false,
      ownsData: true,
      sensitiveParameters: sensitiveKeys(parameters),
    }),
    validateParameters: (given, context) => validateByRules(parameters, given, context),
    provision: refuse,
    observe: refuse,
    // Nothing was ever made, so there is nothing to take away.
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
