import { homedir } from 'node:os';
import { join } from 'node:path';

/** The CLI's folder of this user, which holds tokens: `$XDG_CONFIG_HOME/kedge`, by default `~/.config/kedge`. */
export function contextFolder(): string {
  const base = process.env.XDG_CONFIG_HOME || join(homedir(), '.config');
  return join(base, 'kedge');
}

/** The file of contexts. */
export function contextFile(): string {
  return join(contextFolder(), 'config.yaml');
}
