import { hasCode } from 'kedge/objects';
import type { ApiClient } from 'kedge/client';
import { namespaces } from '@kedge/controllers/kinds';
import { methodFor } from '../../connection/api.js';

/**
 * Checks that a namespace exists, once a list of it is empty: the lists of a missing one are empty.
 * @throws StatusError NotFound
 */
export async function requireNamespace(client: ApiClient, name: string): Promise<void> {
  try {
    await client.call(methodFor(namespaces, 'Get'), { name });
  } catch (error) {
    if (hasCode(error, 'NotFound')) throw error;
    // The check only explains an empty result. Without it, for example without the right to it, the result is printed.
  }
}
