import { statSync } from 'node:fs';

const modifiedMs = (path) =>
  statSync(new URL(path, import.meta.url), { throwIfNoEntry: false })?.mtimeMs;

/** What the compiler writes last, for each package of a checkout. */
const builds = ['.', '../lib', '../proto', '../drivers', '../drivers/sdk', '../controllers'].map(
  (folder) => `../${folder}/dist/.tsbuildinfo`,
);

/**
 * The module that starts a program. A checkout has the program in one file too, which is loaded in a third of the
 * time; one that is older than what was compiled is left aside.
 */
export function mainOf(program) {
  const bundle = `../dist/${program}.bundle.js`;
  const bundledMs = modifiedMs(bundle);
  const isCurrent =
    bundledMs !== undefined && builds.every((build) => (modifiedMs(build) ?? 0) <= bundledMs);
  return isCurrent ? bundle : `../dist/${program}/main.js`;
}
