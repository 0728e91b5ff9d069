// Detects an unreachable package registry: npm itself repeats its requests for minutes before it fails.
import { spawnSync } from 'node:child_process';

const requestMs = 5_000;
/** Also limits the resolution of the registry's name, which has no limit of its own. */
const pingMs = 15_000;

/** Codes with which npm reports that it got no answer. */
const unanswered =
  /\b(EAI_AGAIN|ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|ETIMEDOUT|ERR_SOCKET_TIMEOUT|FETCH_ERROR)\b/;

function registryOf(cwd) {
  const { stdout } = spawnSync('npm', ['config', 'get', 'registry'], { cwd, encoding: 'utf8' });
  try {
    // Without a user and a password.
    const { origin, pathname } = new URL(stdout.trim());
    return `${origin}${pathname}`;
  } catch {
    return 'of npm';
  }
}

/** Why the registry of npm can't be reached, with the remedy; undefined if it answers, or npm is not installed. */
export function unreachableRegistry(cwd) {
  const args = ['ping', '--fetch-retries=0', `--fetch-timeout=${requestMs}`];
  const ping = spawnSync('npm', args, { cwd, encoding: 'utf8', timeout: pingMs });
  if (ping.status === 0) return undefined;
  const code =
    ping.error?.code === 'ETIMEDOUT' ? 'ETIMEDOUT' : unanswered.exec(ping.stderr ?? '')?.[1];
  if (code === undefined) return undefined;
  return `packages are missing or older than package-lock.json, and the registry ${registryOf(cwd)} can't be reached (${code}): connect this machine to its network, or set a proxy or a mirror (npm config set https-proxy URL; npm config set registry URL), and repeat the command`;
}
