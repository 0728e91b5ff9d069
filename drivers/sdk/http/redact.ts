/** Shorter secrets are not redacted, because they also occur in texts by chance. */
const secretLengthMin = 4;

/** Replaces secrets in a text by `***`, also in the forms in which URLs and JSON quote them. */
export function redacted(text: string, secrets: readonly string[]): string {
  let shown = text;
  for (const secret of secrets) {
    if (secret.length < secretLengthMin) continue;
    const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)];
    for (const form of new Set(forms)) shown = shown.replaceAll(form, '***');
  }
  return shown;
}
