import { createPrivateKey } from 'node:crypto';
import { DriverError } from '@kedge/driver-sdk';

/** A key of a service account. */
export interface ServiceAccountKey {
  readonly email: string;
  readonly key: string;
  readonly keyId?: string;
}

/** The credential of a call. */
export interface Identity {
  /** Identifies the credential without revealing it. */
  readonly id: string;
  /** Absent: the default credentials of the node. */
  readonly key?: ServiceAccountKey;
}

/** The id of the node's default credentials. */
export const defaultIdentity: Identity = { id: 'default' };

function invalid(why: string): DriverError {
  return new DriverError(
    'InvalidParameters',
    `parameter credentialsJSON: ${why}; set it to a secret reference with the JSON key of a service account, or omit it on a node with a service account`,
  );
}

/**
 * Reads the key in `credentialsJSON`. No error quotes it.
 * @throws DriverError InvalidParameters if it is not the key of a service account
 */
export function serviceAccountKeyOf(credentialsJSON: string): ServiceAccountKey {
  let parsed: unknown;
  try {
    parsed = JSON.parse(credentialsJSON);
  } catch {
    throw invalid('the value is not JSON'); // the error of the parser quotes the value
  }
  const fields = (typeof parsed === 'object' && parsed !== null ? parsed : {}) as Readonly<
    Record<string, unknown>
  >;
  const text = (name: string): string => {
    const value = fields[name];
    return typeof value === 'string' ? value : '';
  };
  if (text('type') !== 'service_account') throw invalid('its type is not service_account');
  const [email, key, keyId] = [text('client_email'), text('private_key'), text('private_key_id')];
  if (email === '' || key === '') throw invalid('it has no client_email or no private_key');
  try {
    createPrivateKey(key);
  } catch {
    throw invalid('its private_key is not a private key in PEM format'); // as above
  }
  return { email, key, ...(keyId === '' ? {} : { keyId }) };
}
