// Records the terminal session of README.md from a real daemon, as docs/session.svg. `--check` records again and
// fails if the text differs, apart from times, counts and lines of progress.
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { root } from './steps.mjs';

const target = join(root, 'docs/session.svg');
const folder = mkdtempSync(join(tmpdir(), 'kedge-session-'));
const data = join(folder, 'data');
const host = join(folder, 'host');
const kedge = join(root, 'cmd/bin/kedge.mjs');

/** Lines as typed; a line that begins with # is shown but not typed, and the killed daemon is started again there. */
const script = [
  'npx kedge cast docs/examples/journal.yaml',
  'npx kedge get instances',
  'npx kedge logs journal-0 --tail 2',
  'kill -9 $(cut -d" " -f1 $KEDGE_STORE_PATH/kedge.pid)',
  '# The daemon is gone, the workload runs on. In the other terminal: npm start',
  'npx kedge logs journal-0 --tail 3',
  'npx kedge get instances',
];

const environment = {
  ...process.env,
  HOME: folder,
  XDG_CONFIG_HOME: join(folder, 'config'),
  NO_COLOR: '1',
  KEDGE_STORE_PATH: data,
  KEDGE_NODE_NAME: 'laptop',
  KEDGE_STORAGE_HOST_PATH_ALLOWLIST: host,
};

/** Starts a daemon on free ports and waits until it is ready. */
function start() {
  const addresses = ['grpc', 'rest', 'ops'].flatMap((name) => [`--${name}-address`, '127.0.0.1:0']);
  const child = spawn(
    process.execPath,
    [join(root, 'cmd/bin/kedged.mjs'), '--local', ...addresses],
    { env: environment, cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  return new Promise((resolve, reject) => {
    let output = '';
    child.stdout.on('data', (chunk) => {
      output += chunk;
      if (output.includes('Ctrl-C stops it')) resolve(child);
    });
    child.on('exit', (code) => reject(new Error(`kedged ended with ${code}: ${output}`)));
  });
}

/** Runs a line and returns its output without empty lines. @throws Error unless its exit code is 0 */
function type(line) {
  const npx = `npx() { shift; "${process.execPath}" "${kedge}" "$@"; }`;
  const { stdout, stderr, status } = spawnSync('bash', ['-c', `${npx}\n${line}`], {
    cwd: folder,
    env: environment,
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`${line} ended with ${status}: ${stdout}${stderr}`);
  return (stdout + stderr)
    .trimEnd()
    .split('\n')
    .filter((text) => text !== '');
}

async function record() {
  mkdirSync(join(folder, 'docs/examples'), { recursive: true });
  mkdirSync(host, { mode: 0o700 });
  cpSync(join(root, 'docs/examples/journal.yaml'), join(folder, 'docs/examples/journal.yaml'));
  const example = join(folder, 'docs/examples/journal.yaml');
  writeFileSync(example, readFileSync(example, 'utf8').replaceAll('/var/tmp/kedge', host));
  let daemon = await start();
  const lines = [];
  try {
    for (const line of script) {
      if (line.startsWith('#')) {
        daemon = await start();
        lines.push(line);
        continue;
      }
      const ended = line.startsWith('kill')
        ? new Promise((end) => daemon.on('exit', end))
        : undefined;
      lines.push(`$ ${line}`, ...type(line));
      await ended;
    }
    type('npx kedge delete service journal');
  } finally {
    const ended = new Promise((end) => daemon.on('exit', end));
    if (daemon.exitCode === null && daemon.signalCode === null) {
      daemon.kill('SIGTERM');
      await ended;
    }
    rmSync(folder, { recursive: true, force: true });
  }
  return lines;
}

const escape = (text) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

function picture(lines) {
  const [lineHeight, margin, charWidth] = [20, 20, 8.43];
  const width = Math.ceil(Math.max(...lines.map((line) => line.length)) * charWidth + 2 * margin);
  const height = lines.length * lineHeight + 2 * margin;
  const rows = lines.map((line, n) => {
    const color = line.startsWith('$') ? '#f5d67b' : line.startsWith('#') ? '#8a94a6' : '#dfe5ee';
    return `<text x="${margin}" y="${margin + n * lineHeight + 14}" fill="${color}" xml:space="preserve">${escape(line)}</text>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="ui-monospace, Menlo, Consolas, monospace" font-size="14">`,
    `<rect width="100%" height="100%" rx="8" fill="#1b2029"/>`,
    ...rows,
    '</svg>\n',
  ].join('\n');
}

/** Replaces times, ages, counts and progress steps, which differ between two recordings. */
const normalized = (svg) =>
  svg
    .replaceAll(/^<text[^>]*>  (Volume|Service|Instance) .*$\n/gm, '')
    .replaceAll(/ y="\d+"/g, '')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
    .replaceAll(/entry \d+/g, 'entry N')
    .replaceAll(/\b\d+(\.\d+)?(ms|s|m)\b/g, 'AGE')
    .replaceAll(/(width|height)="\d+"/g, '$1')
    .replaceAll(/ +/g, ' ');

const recorded = picture(await record());
if (!process.argv.includes('--check')) writeFileSync(target, recorded);
else if (normalized(readFileSync(target, 'utf8')) !== normalized(recorded)) {
  console.error(
    `docs/session.svg differs from what happens; run node scripts/record-session.mjs\n${recorded}`,
  );
  process.exit(1);
}
