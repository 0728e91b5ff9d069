import { withoutTokens } from '../auth/index.js';

/** Maximum length of a name or namespace in the audit record, in characters. */
const recordedCharactersMax = 512;

/**
 * A string of a request for the audit record: truncated and redacted, because a refused name may be long or contain a
 * token.
 */
export function recordedText(text: string): string {
  const shown =
    text.length <= recordedCharactersMax ? text : `${text.slice(0, recordedCharactersMax)}...`;
  return withoutTokens(shown);
}
