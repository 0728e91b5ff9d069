/** An image as a service names it. */
export interface ImageReference {
  /** With the host unless it is Docker Hub's, such as `redis` or `registry.example.com/team/app`. */
  readonly repository: string;
  /** Host of the registry, with a port where it has one. */
  readonly host: string;
  /** Tag or digest; `latest` where none is given. */
  readonly version: string;
  /** Whether it names content that never changes. */
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

/** Reads `[host/]path[:tag][@digest]`; undefined for anything else. A digest counts, not the tag beside it. */
export function parseImage(text: string): ImageReference | undefined {
  if (text.length > charactersMax) return undefined;
  const [, first, path = '', tag, digest] = pattern.exec(text) ?? [];
  if (path === '') return undefined;
  const version = digest ?? tag ?? 'latest';
  const isDigest = digest !== undefined;
  // The first part is a host where it can be nothing else, as Docker reads it.
  const isHost =
    first !== undefined && (/[.:]/.test(first) || first === 'localhost' || /[A-Z]/.test(first));
  if (isHost) return { repository: `${first}/${path}`, host: first, version, isDigest };
  const repository = first === undefined ? path : `${first}/${path}`;
  return { repository, host: hubHost, version, isDigest };
}

/** The name as the engine takes it. */
export function imageName({ repository, version, isDigest }: ImageReference): string {
  return `${repository}${isDigest ? '@' : ':'}${version}`;
}
