import type { Token } from '../core/machine.js';
import { makeServiceAccount } from './service-account.js';

/** The project of the emulator. */
export const emulatedProject = 'emulated-project';

/** A service account of tests. */
export interface TestAccount {
  /** The account for the emulator. */
  readonly token: Token;
  /** The JSON key for the driver. */
  readonly credentialsJSON: string;
  /** What no log, answer or error may contain. */
  readonly secret: string;
}

/** Makes a service account of the emulated project. Without permissions it may do everything. */
export function testAccount(name: string, permissions?: readonly string[]): TestAccount {
  const { token, credentialsJson, privateKey } = makeServiceAccount(name, {
    project: emulatedProject,
    ...(permissions ? { permissions } : {}),
  });
  return { token, credentialsJSON: credentialsJson, secret: privateKey };
}
