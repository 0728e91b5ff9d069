import { limits } from 'kedge/objects';
import { Lexer } from 'yaml';

/** Maximum indentation of a line in columns: 64 levels of eight. */
const indentMax = 512;

/** The position of a value that is nested too deeply. */
export interface TooDeep {
  /** Characters from the beginning of the text. */
  readonly offset: number;
  readonly problem: string;
}

/**
 * Returns the first position in a YAML text that exceeds the nesting limit of the API with brackets, or the maximum
 * indentation; undefined if there is none. The
 * parser recurses and would end the process on a text of a few thousand levels, so the tokens are checked before it
 * runs.
 */
export function tooDeep(text: string): TooDeep | undefined {
  const { jsonDepthMax } = limits;
  let offset = 0;
  let lineAt = 0;
  let flow = 0;
  /** True until the line's first token that is neither space nor an indicator of a list or a key. */
  let leading = true;
  for (const token of new Lexer().lex(text)) {
    // Marker tokens of the lexer: the beginning of a document, of a flow, of a scalar.
    if (token === '\u0002' || token === '\u0018' || token === '\u001f') continue;
    if (token === '[' || token === '{') flow += 1;
    else if (token === ']' || token === '}') flow = Math.max(0, flow - 1);
    if (flow > jsonDepthMax)
      return { offset, problem: `is nested more than ${jsonDepthMax} levels deep` };
    const blank = token.trim() === '' || token === '-' || token === '?';
    if (leading && !blank) leading = false;
    offset += token.length;
    if (token.endsWith('\n')) {
      lineAt = offset;
      leading = true;
    } else if (leading && offset - lineAt > indentMax)
      return { offset, problem: `is indented by more than ${indentMax} columns` };
  }
  return undefined;
}
