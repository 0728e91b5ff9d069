import type { EmbeddedStore } from 'kedge';

/** The addresses of the API, as a context stores them. */
export interface LocalAddresses {
  readonly server: string;
  readonly restServer: string;
}

/** The context that `npm start` stores and that commands use. */
const local = 'local';

/** The stored contexts and their changes. Loaded only for a local daemon, because they load a YAML parser. */
const stored = () => import('../../kedge/connection/context.js');

function unusedName(names: readonly string[]): string {
  let n = 2;
  while (names.includes(`${local}-${n}`)) n += 1;
  return `${local}-${n}`;
}

/** Keeps the context `local`, if there is one, under another name: its token is the only one that the user has. */
async function setAside(): Promise<void> {
  const { readContexts, renameContext } = await stored();
  const names = Object.keys((await readContexts()).contexts);
  if (names.includes(local)) await renameContext(local, unusedName(names));
}

/**
 * On the first run, creates the root token before the API listens, and stores it at once for this user: if the start
 * failed in between, the token would be lost. An earlier context `local` is kept under another name. No-op on later
 * runs.
 * @throws StatusError if contexts can't be stored, which is checked before the token is created
 */
export async function firstAccess(store: EmbeddedStore, addresses: LocalAddresses): Promise<void> {
  const { bootstrap, isBootstrapped } = await import('kedge/auth');
  if (await isBootstrapped(store)) return;
  const { requireWritable, writeContext } = await stored();
  await requireWritable();
  await setAside();
  const cluster = store.clusterId;
  await writeContext(local, { ...addresses, cluster, token: await bootstrap(store) });
}

/** Whether the local user has a context for the daemon; `uncertain`: only one that was stored for another cluster. */
export type LocalAccess = 'kept' | 'missing' | 'uncertain';

/**
 * Makes the context of the daemon's cluster the one named `local`, and updates its addresses. One of another cluster
 * is kept under another name; without one of this cluster it stays, since a copy of a cluster has the same tokens.
 * @throws StatusError Unavailable (ContextsUnusable)
 */
export async function ensureLocalContext(
  cluster: string,
  addresses: LocalAddresses,
): Promise<LocalAccess> {
  const { readContexts, renameContext, writeContext } = await stored();
  const { contexts } = await readContexts();
  const own = Object.keys(contexts).find((name) => contexts[name]?.cluster === cluster);
  if (own !== undefined && own !== local) {
    await setAside();
    await renameContext(own, local);
  }
  const known = (await readContexts()).contexts[local];
  if (!known) return 'missing';
  if (known.cluster !== undefined && known.cluster !== cluster) return 'uncertain';
  // The port may have changed.
  if (known.server !== addresses.server || own !== local)
    await writeContext(local, { ...known, ...addresses });
  return 'kept';
}

/** Whether commands without KEDGE_SERVER and KEDGE_TOKEN use the context of the local daemon. */
export async function isLocalCurrent(): Promise<boolean> {
  const { readContexts } = await stored();
  return (await readContexts()).current === local;
}
