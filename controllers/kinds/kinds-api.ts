import type { Controller } from 'kedge';
import { type ApiParts, type CustomMethod, serve, type ServedKind } from 'kedge/server';
import { agentVerbs, ConnectedAgents } from '../agent-requests/index.js';
import { backupVerbs } from '../backup/index.js';
import { execVerbs } from '../exec/index.js';
import { healthVerbs } from '../health/index.js';
import { imageVerbs } from '../image/index.js';
import { inspectionVerbs } from '../inspection/index.js';
import { kindEntries } from './index.js';
import { logVerbs } from '../log/index.js';
import { keyVerbs } from '../secret/index.js';
import { storageRootVerbs } from '../storage-root/index.js';
import type { ApiOptions, KindControllerOptions } from '../api/kind-entry.js';

/** The API of all kinds for a server. */
export interface KindsApi {
  /** Every kind with its message and rules. */
  readonly servedKinds: (options: ApiOptions) => readonly ServedKind[];
  /** Every method that does not follow the CRUD pattern. */
  readonly customMethods: (parts: ApiParts, options: ApiOptions) => readonly CustomMethod[];
  /** The controllers of all kinds, and those of them that call drivers. */
  readonly controllers: (options: KindControllerOptions) => {
    readonly all: readonly Controller[];
    readonly callers: readonly Controller[];
  };
}

/** Loads the rules, methods and controllers of all kinds. */
export async function loadKindsApi(): Promise<KindsApi> {
  const loaded = await Promise.all(
    kindEntries.map(async ({ kind, api }) => ({ kind, api: (await api?.()) ?? {} })),
  );
  return {
    servedKinds: (options) =>
      loaded.map(({ kind, api }) => serve(kind, `api.${kind.kind}`, api.rules?.(options))),
    customMethods: (parts, options) => {
      const agents = new ConnectedAgents(parts);
      const sources = { ...options, agents };
      return [
        ...loaded.flatMap(({ api }) => api.verbs?.(parts, options) ?? []),
        ...agentVerbs(agents),
        ...logVerbs(parts, sources),
        ...execVerbs(parts, sources),
        ...healthVerbs(parts),
        ...imageVerbs(parts, sources),
        ...keyVerbs(options.rotation),
        ...backupVerbs(options.backups),
        ...inspectionVerbs(parts, options),
        ...storageRootVerbs(options),
      ];
    },
    controllers: (options) => {
      const made = loaded.map(({ api }) => ({
        calls: api.callsDrivers === true,
        controllers: api.controllers?.(options) ?? [],
      }));
      return {
        all: made.flatMap(({ controllers }) => controllers),
        callers: made.filter(({ calls }) => calls).flatMap(({ controllers }) => controllers),
      };
    },
  };
}
