// C0 except tab and newline, DEL, C1, and the marks that reorder text or break lines.
const steering =
  // biome-ignore lint: the pattern matches control characters on purpose
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/**
 * Escapes every character of an untrusted text that controls a terminal or reorders its text as `\uXXXX`. Tabs and
 * newlines are kept.
 */
export function printable(text: string): string {
  return text.replaceAll(
    steering,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}

/** A printable text on one line. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/[\t\n]+/g, ' ');
}
