import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { messageOf, StatusError } from 'kedge';
import { parse } from 'smol-toml';
import { localProfile, prepareExampleDirectory, sharedExampleDirectory } from './local-profile.js';
import { type DaemonConfig, resolveSettings, settingFlags } from './settings.js';

/** What the command line says about the configuration, as Commander gives it. */
export interface ConfigOptions {
  readonly config?: string;
  readonly local?: boolean;
  readonly checkConfig?: boolean;
  readonly [flag: string]: string | boolean | undefined;
}

/** The configuration: flags, environment, file, profile. @throws StatusError InvalidArgument */
export async function loadConfig(options: ConfigOptions): Promise<DaemonConfig> {
  const file = options.config ?? process.env.KEDGE_CONFIG;
  let content: Record<string, unknown> = {};
  if (file !== undefined) {
    try {
      content = parse(await readFile(file, 'utf8'));
    } catch (error) {
      throw new StatusError({
        code: 'InvalidArgument',
        reason: 'ConfigUnreadable',
        message: `configuration file ${file} can't be read: ${messageOf(error)}`,
        cause: error,
      });
    }
  }
  const flags: Record<string, string> = {};
  for (const { flag, key } of settingFlags) {
    const name = flag.slice(2).replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const value = options[name];
    if (typeof value === 'string') flags[key] = value;
  }
  const sources = { flags, environment: process.env, file: content };
  if (!options.local) return resolveSettings({ ...sources, profile: {} });
  const config = resolveSettings({ ...sources, profile: localProfile(sharedExampleDirectory) });
  // Who set another list needs no directory of the examples.
  if (config.hostPathAllowlist.join() !== sharedExampleDirectory) return config;
  return resolveSettings({ ...sources, profile: localProfile(await prepareExampleDirectory()) });
}

/** Gives a command the flags of all settings. */
export function withSettings(command: Command): Command {
  command.option('--config <file>', 'configuration file (TOML)');
  for (const { flag, key } of settingFlags) command.option(`${flag} <value>`, `sets ${key}`);
  return command;
}
