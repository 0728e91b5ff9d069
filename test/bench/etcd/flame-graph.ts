/** The part of a .cpuprofile of V8 that a flame graph needs. */
export interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      readonly lineNumber: number;
    };
    readonly children?: readonly number[];
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const [width, height] = [1_600, 16];
/** The width in pixels below which a box is omitted. */
const narrowest = 0.5;

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function hue(url: string): number {
  if (url.includes('/node_modules/')) return 40;
  return url.startsWith('node:') || url === '' ? 210 : 100;
}

/**
 * An SVG with a box for each node of the profile, as wide as its share of the time; titles have share, file and line.
 */
export function flameGraph(profile: Profile): string {
  const own = new Map<number, number>();
  profile.samples.forEach((id, at) => {
    own.set(id, (own.get(id) ?? 0) + (profile.timeDeltas[at] ?? 0));
  });
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const totals = new Map<number, number>();
  const total = (id: number): number => {
    const known = totals.get(id);
    if (known !== undefined) return known;
    const children = byId.get(id)?.children ?? [];
    const sum = children.reduce((time, child) => time + total(child), own.get(id) ?? 0);
    totals.set(id, sum);
    return sum;
  };
  const idle = new Set(['(idle)', '(program)']);
  const root = profile.nodes[0];
  const busy = (root?.children ?? []).filter(
    (id) => !idle.has(byId.get(id)?.callFrame.functionName ?? ''),
  );
  const all = busy.reduce((time, id) => time + total(id), 0);
  const boxes: string[] = [];
  let deepest = 0;
  const draw = (id: number, x: number, depth: number): void => {
    const node = byId.get(id);
    const wide = (total(id) / all) * width;
    if (!node || wide < narrowest) return;
    deepest = Math.max(deepest, depth);
    const { functionName, url, lineNumber } = node.callFrame;
    const name = escaped(functionName || '(anonymous)');
    const file = escaped(url.replace(/^.*\/(?=node_modules\/|lib\/|cmd\/|controllers\/)/, ''));
    const share = ((total(id) / all) * 100).toFixed(2);
    const label = name.slice(0, Math.max(0, Math.floor(wide / 6.5)));
    boxes.push(
      `<g><title>${name} ${share}% ${file}:${lineNumber + 1}</title>` +
        `<rect x="${x.toFixed(1)}" y="${depth * height}" width="${wide.toFixed(1)}" height="${height - 1}" fill="hsl(${hue(url)} 70% 75%)"/>` +
        `<text x="${(x + 2).toFixed(1)}" y="${depth * height + 11}">${label}</text></g>`,
    );
    let at = x;
    for (const child of node.children ?? []) {
      draw(child, at, depth + 1);
      at += (total(child) / all) * width;
    }
  };
  let x = 0;
  for (const id of busy) {
    draw(id, x, 0);
    x += (total(id) / all) * width;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${(deepest + 1) * height}" font-family="monospace" font-size="10">\n${boxes.join('\n')}\n</svg>\n`;
}
