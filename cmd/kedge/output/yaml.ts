/**
 * The YAML functions of commands, which load them on demand: the parser takes long to load. In a bundle, the named
 * exports of a CommonJS package exist only through a module such as this one.
 */
export { parse, stringify } from 'yaml';
