import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import { messageOf, StatusError } from 'kedge';
import { parse, stringify } from 'smol-toml';
import { localProfile, prepareExampleDirectory, sharedExampleDirectory } from './local-profile.js';
import { type DaemonConfig, resolveSettings, settingFlags, settingsByKey } from './settings.js';

/** The configuration options of the command line, from Commander. */
export interface ConfigOptions {
  readonly config?: string;
  readonly local?: boolean;
  readonly checkConfig?: boolean;
  readonly [flag: string]: string | boolean | undefined;
}

/**
 * Reads the configuration from flags, environment, file and profile, in this order of precedence. With the profile of
 * `--local` it creates the directory of the examples, unless `checkConfig` is set or another allowlist is configured.
 * @throws StatusError InvalidArgument; FailedPrecondition as {@link prepareExampleDirectory}
 */
export async function loadConfig(options: ConfigOptions): Promise<DaemonConfig> {
  const file = options.config ?? process.env.KEDGE_CONFIG;
  const config = await configOf(options, file);
  return file === undefined ? config : { ...config, configFile: resolve(file) };
}

async function configOf(options: ConfigOptions, file: string | undefined): Promise<DaemonConfig> {
  let content: Record<string, unknown> = {};
  if (file !== undefined) {
    try {
      content = parse(await readFile(file, 'utf8'));
    } catch (error) {
      throw new StatusError({
        code: 'InvalidArgument',
        reason: 'ConfigUnreadable',
        message: `configuration file ${file} can't be read: ${messageOf(error)}; correct the file, or start kedged with --config and another one`,
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
  // With another allowlist the directory of the examples is not needed.
  if (config.hostPathAllowlist.join() !== sharedExampleDirectory) return config;
  const missing = options.checkConfig ? 'leave' : 'make';
  const directory = await prepareExampleDirectory(undefined, undefined, missing);
  return resolveSettings({ ...sources, profile: localProfile(directory) });
}

/**
 * Renders a configuration as TOML: all settings in effect, including those of flags, the environment and the profile.
 */
export function configurationFile(config: DaemonConfig): string {
  const tables: Record<string, Record<string, unknown>> = {};
  for (const [key, value] of settingsByKey(config)) {
    const path = key.split('.');
    const name = path.pop() ?? '';
    let table: Record<string, unknown> = tables;
    for (const part of path) table = (table[part] ??= {}) as Record<string, unknown>;
    table[name] = value;
  }
  return stringify(tables);
}

/** Adds `--config` to a command, and the flags of the settings that have one. */
export function withSettings(command: Command): Command {
  command.option('--config <file>', 'configuration file (TOML)');
  for (const { flag, key } of settingFlags) command.option(`${flag} <value>`, `sets ${key}`);
  return command;
}
