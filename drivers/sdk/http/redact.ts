import { maskSecret } from '../errors/mask-secrets.js';

/** Shorter secrets are not redacted, because they also occur in texts by chance. */
const secretLengthMin = 4;

/** Replaces secrets in a text by `***`, in the forms of {@link maskSecret}. */
export function redacted(text: string, secrets: readonly string[]): string {
  return secrets
    .filter(({ length }) => length >= secretLengthMin)
    .reduce((shown, secret) => maskSecret(shown, secret, '***'), text);
}
