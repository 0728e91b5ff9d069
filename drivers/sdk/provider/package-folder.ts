/**
 * The folder into which users install packages of providers for a program that npm did not install. The Debian package
 * is built with another content of this module: see scripts/release/bundle.mjs.
 */
export const packageFolder: string | undefined = undefined;
