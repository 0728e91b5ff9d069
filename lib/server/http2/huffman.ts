/**
 * Lengths of the Huffman codes of HPACK (RFC 7541, appendix B) in bits, as digits of base 32: of the 256 bytes, and of
 * the end of the text. The code is canonical, so its lengths determine it.
 */
const codeLengths =
  'dnsssssssoussussssssssusssssssss6aacd68baa8b8666555666666678f6cad677777777777777777777' +
  '77878djde6f56565666577666567655677777fbedskmkkmmmnmnnnnnonoomnonnnnlmnmnnomlkmmnnlnmmo' +
  'lmnnllmlnmnnkmmmnmmnqqkjmnmpqqqrrqopjlqrrqrollqqsrrrkoklmllnmmppooqnqrqqrrrrrsrrrrrqu';
const endOfText = 256;
/** The longest padding, in bits. */
const paddingMax = 7;

/** A node of the tree of codes: a number is a symbol. */
type Node = [Node | number, Node | number];

function treeOfCodes(): Node {
  const lengths = Array.from(codeLengths, (digit) => Number.parseInt(digit, 32));
  const symbols = lengths.map((_, symbol) => symbol);
  symbols.sort((a, b) => (lengths[a] ?? 0) - (lengths[b] ?? 0) || a - b);
  const root: Node = [-1, -1];
  let code = 0;
  let before = 0;
  for (const symbol of symbols) {
    const length = lengths[symbol] ?? 0;
    code *= 2 ** (length - before);
    before = length;
    let node = root;
    for (let bit = length - 1; bit > 0; bit -= 1) {
      const side = (code >>> bit) & 1;
      const next = node[side as 0 | 1];
      const inner: Node = typeof next === 'number' ? [-1, -1] : next;
      node[side as 0 | 1] = inner;
      node = inner;
    }
    node[(code & 1) as 0 | 1] = symbol;
    code += 1;
  }
  return root;
}

/** The step of a state for four bits: `next * 512 + symbol + 1`, or -1 if there is no such code. */
const steps: Int32Array = new Int32Array(256 * 16);
/** 1 for each state in which a text may end: its last bits are padding, a prefix of the code for the end. */
const mayEnd: Uint8Array = new Uint8Array(256);

function fillSteps(): void {
  const root = treeOfCodes();
  const states: Node[] = [root];
  const numbers = new Map<Node, number>([[root, 0]]);
  const numberOf = (node: Node): number => {
    let number = numbers.get(node);
    if (number === undefined) {
      number = states.push(node) - 1;
      numbers.set(node, number);
    }
    return number;
  };
  // The list grows while it is read.
  for (let state = 0; state < states.length; state += 1)
    for (let four = 0; four < 16; four += 1)
      steps[state * 16 + four] = stepOf(states[state] ?? root, four, root, numberOf);
  let padding: Node | number = root;
  for (let bits = 0; bits <= paddingMax && typeof padding !== 'number'; bits += 1) {
    mayEnd[numberOf(padding)] = 1;
    padding = padding[1];
  }
}

function stepOf(from: Node, four: number, root: Node, numberOf: (node: Node) => number): number {
  let node = from;
  let symbol = -1;
  for (let bit = 3; bit >= 0; bit -= 1) {
    const next = node[((four >>> bit) & 1) as 0 | 1];
    if (typeof next !== 'number') {
      node = next;
      continue;
    }
    if (next === endOfText) return -1;
    symbol = next;
    node = root;
  }
  return numberOf(node) * 512 + symbol + 1;
}

fillSteps();

/** The decoded bytes: a code has at least five bits. */
let text: Buffer = Buffer.allocUnsafe(1_024);

/** Decodes a text of HPACK; undefined if it is invalid. */
export function huffmanText(bytes: Buffer, from: number, to: number): string | undefined {
  const longest = Math.ceil(((to - from) * 8) / 5);
  if (longest > text.length) text = Buffer.allocUnsafe(longest);
  let state = 0;
  let length = 0;
  for (let half = 2 * from; half < 2 * to; half += 1) {
    const byte = bytes[half >>> 1] ?? 0;
    const step = steps[state * 16 + (half & 1 ? byte & 15 : byte >>> 4)] ?? -1;
    if (step < 0) return undefined;
    const symbol = (step & 511) - 1;
    if (symbol >= 0) text[length++] = symbol;
    state = step >>> 9;
  }
  return mayEnd[state] === 1 ? text.toString('latin1', 0, length) : undefined;
}
