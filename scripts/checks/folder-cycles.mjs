// Cycles among the folders of one folder: each of them would have to be understood to understand any other. Files that
// lie beside the folders connect them and do not count.

/** Layers within the folders of kinds: kinds refer to each other's declarations, and the list of kinds to their entries. */
const layers = [
  { name: 'controllers/(declarations)', files: /^controllers\/.+\/(kind|phases)\.ts$/ },
  { name: 'controllers/(entries)', files: /^controllers\/.+\/(entry|api)\.ts$/ },
];
/** Tests and their helpers may import everything. */
const untested = (path) => !path.endsWith('.test.ts') && !path.includes('/testing/');

/**
 * The groups of folders that import each other in a cycle, by the folder that contains them.
 * @param modules those of dependency-cruiser's report
 */
export function folderCycles(modules) {
  const places = (path) => {
    const layer = layers.find(({ files }) => files.test(path));
    return (layer ? layer.name : path.slice(0, path.lastIndexOf('/'))).split('/');
  };
  /** Imports between the folders of one folder. */
  const graphs = new Map();
  for (const { source, dependencies } of modules.filter(({ source }) => untested(source)))
    for (const { resolved } of dependencies) {
      const from = places(source);
      const to = places(resolved);
      let common = 0;
      while (common < from.length && from[common] === to[common]) common++;
      if (!untested(resolved) || common === from.length || common === to.length) continue;
      const parent = from.slice(0, common).join('/');
      const graph = graphs.get(parent) ?? new Map();
      graphs.set(parent, graph);
      graph.set(from[common], (graph.get(from[common]) ?? new Set()).add(to[common]));
    }
  return [...graphs].flatMap(([parent, graph]) =>
    cyclesOf(graph).map((members) => ({ parent, folders: members })),
  );
}

/** The groups of nodes that reach each other. */
function cyclesOf(graph) {
  const reached = new Map([...graph.keys()].map((node) => [node, reach(graph, node)]));
  const groups = new Map();
  for (const [node, others] of reached) {
    const group = [...others].filter((other) => reached.get(other)?.has(node)).sort();
    if (group.includes(node)) groups.set(group.join(' '), group);
  }
  return [...groups.values()];
}

function reach(graph, start) {
  const seen = new Set();
  const left = [start];
  for (let node = left.pop(); node !== undefined; node = left.pop())
    for (const next of graph.get(node) ?? [])
      if (!seen.has(next)) {
        seen.add(next);
        left.push(next);
      }
  return seen;
}
