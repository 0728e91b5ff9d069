import { createPublicKey, generateKeyPairSync } from 'node:crypto';
import type { Token } from '../core/machine.js';

/** The project of the emulator. */
export const emulatedProject = 'emulated-project';

/** A service account with a key that was made for a test. */
export interface ServiceAccount {
  /** For {@link Token} of an emulator: it has only the public half of the key. */
  readonly token: Token;
  /** The text of the key file: the parameter of the class. */
  readonly credentialsJSON: string;
  /** The private half of the key, which no log, answer or error may contain. */
  readonly secret: string;
}

/**
 * Makes a service account with a new key.
 * @param permissions its IAM permissions, such as `compute.disks.get`; absent for all
 */
export function makeServiceAccount(
  name: string,
  {
    project = emulatedProject,
    permissions,
  }: {
    readonly project?: string;
    readonly permissions?: readonly string[];
  } = {},
): ServiceAccount {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    publicKeyEncoding: { type: 'spki', format: 'pem' },
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  });
  const email = `${name}@${project}.iam.gserviceaccount.com`;
  const file = {
    ...{ type: 'service_account', project_id: project, private_key_id: `key-of-${name}` },
    ...{ private_key: privateKey, client_email: email, client_id: '100000000000000000001' },
    auth_uri: 'https://accounts.google.com/o/oauth2/auth',
    token_uri: 'https://oauth2.googleapis.com/token',
    universe_domain: 'googleapis.com',
  };
  const scopes = permissions ? { scopes: permissions } : {};
  return {
    token: { name: email, secret: publicKey, ...scopes },
    credentialsJSON: JSON.stringify(file),
    secret: privateKey,
  };
}

/** Returns the service account of a key file, with all permissions. @throws SyntaxError */
export function accountOf(credentialsJSON: string): Token {
  const file = JSON.parse(credentialsJSON) as { client_email: string; private_key: string };
  const key = createPublicKey(file.private_key).export({ type: 'spki', format: 'pem' });
  return { name: file.client_email, secret: key.toString() };
}

/** The permissions in the specification's list for cloud4-disk (2.5). */
export const specifiedPermissions: readonly string[] = [
  'compute.disks.create',
  'compute.disks.delete',
  'compute.disks.get',
  'compute.disks.resize',
  'compute.disks.use',
  'compute.disks.useReadOnly',
  'compute.instances.attachDisk',
  'compute.instances.detachDisk',
  'compute.instances.get',
  'compute.snapshots.create',
  'compute.snapshots.delete',
  'compute.snapshots.get',
  'compute.zoneOperations.get',
  'compute.globalOperations.get',
];
