import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TestDaemon } from '../../acceptance/daemon.js';
import { flameGraph, type Profile } from './flame-graph.js';

/** Where the profiles of daemons are written; undefined without `--profile`. */
export const profileFolder = process.env['KEDGE_BENCH_PROFILE'];

/** A daemon that writes its profile when it ends, if `--profile` was given. */
export async function profiledDaemon(): Promise<TestDaemon> {
  if (profileFolder === undefined) return TestDaemon.start();
  await mkdir(profileFolder, { recursive: true });
  // The first parameter is the path of node.
  const start =
    'exec "$0" --cpu-prof --cpu-prof-interval 500 --cpu-prof-dir "$KEDGE_BENCH_PROFILE" "$@"';
  return TestDaemon.start({ prefix: ['sh', '-c', start] });
}

/** Draws each profile of the folder, also those of earlier runs, and prints where. It replaces existing drawings. */
export async function drawProfiles(): Promise<void> {
  if (profileFolder === undefined) return;
  const names = await readdir(profileFolder);
  for (const name of names.filter((file) => file.endsWith('.cpuprofile'))) {
    const svg = join(profileFolder, name.replace(/\.cpuprofile$/, '.svg'));
    const profile = JSON.parse(await readFile(join(profileFolder, name), 'utf8')) as Profile;
    await writeFile(svg, flameGraph(profile));
    console.log(`flame graph: ${svg}`);
  }
}
