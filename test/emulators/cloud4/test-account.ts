import { generateKeyPairSync } from 'node:crypto';
import type { Token } from '../core/machine.js';

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

/** Makes a service account with a new key. Without permissions it may do everything. */
export function testAccount(name: string, permissions?: readonly string[]): TestAccount {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const secret = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const email = `${name}@${emulatedProject}.iam.gserviceaccount.com`;
  const key = {
    type: 'service_account',
    project_id: emulatedProject,
    private_key_id: 'key-1',
    private_key: secret,
    client_email: email,
    token_uri: 'https://oauth2.googleapis.com/token',
  };
  return {
    token: {
      name: email,
      secret: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
      ...(permissions ? { scopes: permissions } : {}),
    },
    credentialsJSON: JSON.stringify(key),
    secret,
  };
}
