/**
 * The YAML functions of commands, which load them on demand: the parser takes as long to load as a small command. A
 * bundle has names of a CommonJS package only through a module such as this one.
 */
export { parse, stringify } from 'yaml';
