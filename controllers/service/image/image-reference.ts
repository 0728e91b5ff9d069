/** A parsed image reference. */
export interface ImageReference {
  /** Repository, with the host if the reference names it: `redis`, `registry.example.com/team/app`. */
  readonly repository: string;
  /** Host of the registry, with its port if given; `docker.io` if the reference names none. */
  readonly host: string;
  /** Tag or digest; default: `latest`. */
  readonly version: string;
  /** Whether the reference is immutable. */
  readonly isDigest: boolean;
}

const hubHost = 'docker.io';
const component = '[a-z0-9]+(?:(?:\\.|_|__|-+)[a-z0-9]+)*';
const host =
  '(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)(?:\\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)*(?::\\d{1,5})?';
const pattern = new RegExp(
  `^(?:(${host})/)?(${component}(?:/${component})*)(?::([\\w][\\w.-]{0,127}))?(?:@(sha256:[0-9a-f]{64}))?$`,
);
const charactersMax = 512;

/** Parses `[host/]path[:tag][@digest]`; undefined if malformed. A digest overrides a tag. */
export function parseImage(text: string): ImageReference | undefined {
  if (text.length > charactersMax) return undefined;
  const [, first, path = '', tag, digest] = pattern.exec(text) ?? [];
  if (path === '') return undefined;
  const version = digest ?? tag ?? 'latest';
  const isDigest = digest !== undefined;
  // The first part is the host if it has a dot, a colon or a capital, or is localhost, as in Docker.
  const isHost =
    first !== undefined && (/[.:]/.test(first) || first === 'localhost' || /[A-Z]/.test(first));
  if (isHost) return { repository: `${first}/${path}`, host: first, version, isDigest };
  const repository = first === undefined ? path : `${first}/${path}`;
  return { repository, host: hubHost, version, isDigest };
}

/** The reference in the engine's form. */
export function imageName({ repository, version, isDigest }: ImageReference): string {
  return `${repository}${isDigest ? '@' : ':'}${version}`;
}
