import { maskSecrets } from '../errors/mask-secrets.js';

/** Shorter secrets are not redacted, because they also occur in texts by chance. */
const secretLengthMin = 4;

/** Replaces secrets in a text by `***`, in the forms of {@link maskSecrets}. */
export function redacted(text: string, secrets: readonly string[]): string {
  return maskSecrets(text, secrets.filter(isRedacted), '***');
}

function isRedacted({ length }: string): boolean {
  return length >= secretLengthMin;
}
