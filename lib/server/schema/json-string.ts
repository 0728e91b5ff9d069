const quote = 0x22;
const backslash = 0x5c;

/**
 * The position of the quote that ends a JSON string, or the length of the text if none does.
 * @param start position of the quote that starts it
 */
export function endOfString(text: string, start: number): number {
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const char = text.charCodeAt(at);
    if (char === quote) return at;
    if (char === backslash) at += 1;
  }
  return text.length;
}
