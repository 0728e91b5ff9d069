import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import ts from 'typescript';
import { root } from '../acceptance/daemon.js';

/** The exports that have a contract, by the module that embedders import. */
const contracts = {
  kedge: [
    'SharedInformer',
    'WorkQueue',
    'RateLimitingQueue',
    'EventRecorder',
    'Controller',
    'Manager',
    'LeaderElector',
    'ObjectStore',
    'Transaction',
  ],
  'kedge/server': ['ApiServer'],
  'kedge/client': ['ApiClient', 'ResourceClient', 'RemoteStore'],
};
const headings = ['Guarantees', 'Ordering', 'Errors', 'Caveats'];

/** The constants that examples assume. */
const setting = `
import { type ApiObject, kindOf, type Manager, type ObjectStore } from 'kedge';
import type { DescribedKinds } from 'kedge/server';

interface Lamp extends ApiObject { readonly on?: boolean; readonly lit?: boolean }
const kind = kindOf<Lamp>()({ kind: 'Lamp', plural: 'lamps', scope: 'Cluster', statusFields: ['lit'] });
declare global {
  const lamps: typeof kind;
  const store: ObjectStore;
  const manager: Manager;
  const api: DescribedKinds;
}`;

interface Contract {
  readonly name: string;
  readonly text: string;
  readonly example: string;
}

/** The missing parts of a contract: the headings, in this order, each with text, and the example. */
function missing({ text, example }: Pick<Contract, 'text' | 'example'>): readonly string[] {
  let rest = text;
  const absent = headings.filter((heading) => {
    const found = new RegExp(`^${heading}:\\s+(?!(?:${headings.join('|')}):)\\S[^]*`, 'm').exec(
      rest,
    );
    if (found) rest = found[0].slice(heading.length);
    return !found;
  });
  return example === '' ? [...absent, '@example'] : absent;
}

/** Options like those that `tsc --init` writes. */
const options: ts.CompilerOptions = {
  target: ts.ScriptTarget.ES2022,
  lib: ['lib.es2023.d.ts', 'lib.esnext.disposable.d.ts'],
  module: ts.ModuleKind.NodeNext,
  moduleResolution: ts.ModuleResolutionKind.NodeNext,
  types: ['node'],
  strict: true,
  noUncheckedIndexedAccess: true,
  exactOptionalPropertyTypes: true,
  skipLibCheck: true,
  noEmit: true,
};

/** The built declarations of a module of the library. */
function declarations(module: string): string {
  const { exports } = JSON.parse(readFileSync(join(root, 'lib/package.json'), 'utf8')) as {
    readonly exports: Readonly<Record<string, { readonly types: string }>>;
  };
  return join(root, 'lib', exports[module.replace('kedge', '.')]?.types ?? '');
}

const pathOf = (name: string): string => join(root, `test/docs/contract-of-${name}.ts`);

describe('contracts of the exports for embedders', function () {
  this.timeout(300_000);
  const written = new Map<string, string>();
  const disk = ts.createCompilerHost(options);
  const host = ts.createCompilerHost(options);
  host.readFile = (path) => written.get(path) ?? disk.readFile(path);
  host.fileExists = (path) => written.has(path) || disk.fileExists(path);
  let library: ts.Program;
  let found: readonly Contract[];

  /** The docstring as an editor shows it. */
  function contractOf(module: string, name: string): Contract {
    const checker = library.getTypeChecker();
    const file = library.getSourceFile(declarations(module));
    const entry = file && checker.getSymbolAtLocation(file);
    const exported = entry?.exports && checker.getExportsOfModule(entry);
    const alias = exported?.find((symbol) => symbol.name === name);
    if (!alias) throw new Error(`${module} exports no ${name}`);
    const isAlias = (alias.flags & ts.SymbolFlags.Alias) !== 0;
    const symbol = isAlias ? checker.getAliasedSymbol(alias) : alias;
    const tag = symbol.getJsDocTags(checker).find((one) => one.name === 'example');
    return {
      name,
      text: ts.displayPartsToString(symbol.getDocumentationComment(checker)),
      example: ts.displayPartsToString(tag?.text),
    };
  }

  /** The errors of examples, all of them in one program. */
  function errorsOf(examples: readonly Pick<Contract, 'name' | 'example'>[]): readonly string[] {
    written.set(pathOf('setting'), setting);
    for (const { name, example } of examples) written.set(pathOf(name), `${example}\nexport {};\n`);
    const program = ts.createProgram([...written.keys()], options, host, library);
    return ['setting', ...examples.map(({ name }) => name)].flatMap((name) => {
      const file = program.getSourceFile(pathOf(name));
      const faults = [
        ...program.getSyntacticDiagnostics(file),
        ...program.getSemanticDiagnostics(file),
      ];
      return faults.map(
        ({ messageText }) => `${name}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`,
      );
    });
  }

  before(() => {
    library = ts.createProgram(Object.keys(contracts).map(declarations), options, host);
    found = Object.entries(contracts).flatMap(([module, names]) =>
      names.map((name) => contractOf(module, name)),
    );
  });

  it('state guarantees, ordering, errors and caveats, and have an example', () => {
    const incomplete = found.flatMap((contract) =>
      missing(contract).map((part) => `${contract.name} has no ${part}`),
    );
    expect(incomplete).to.deep.equal([]);
  });

  it('have examples that compile, with imports of the package alone; a broken one is named', () => {
    const broken = { name: 'broken', example: "import { nothing } from 'kedge';\nnothing();" };
    expect(errorsOf([...found, broken])).to.deep.equal([
      `broken: Module '"kedge"' has no exported member 'nothing'.`,
    ]);
    const imports = found.flatMap(({ example }) =>
      [...example.matchAll(/from '([^']*)'/g)].map((match) => match[1]),
    );
    expect(imports.filter((from) => !(from && from in contracts))).to.deep.equal([]);
  });

  it('a contract without a heading, with one at the wrong place, or without an example is named', () => {
    const text = headings.map((heading) => `${heading}: something.`).join('\n\n');
    const example = "import { done } from 'kedge';";
    expect(missing({ text, example })).to.deep.equal([]);
    expect(missing({ text: text.replace('Ordering: something.', ''), example })).to.deep.equal([
      'Ordering',
    ]);
    const last = `${text.replace('Guarantees: something.', '')}\n\nGuarantees: something.`;
    expect(missing({ text: last, example })).to.include('Ordering');
    expect(missing({ text, example: '' })).to.deep.equal(['@example']);
  });
});
