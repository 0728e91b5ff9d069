import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect } from 'chai';
import { root } from '../acceptance/daemon.js';

interface Module {
  readonly source: string;
  readonly dependencies: readonly { readonly resolved: string }[];
}
interface Cycle {
  readonly parent: string;
  readonly folders: readonly string[];
}

const { folderCycles } = (await import(
  pathToFileURL(join(root, 'scripts/checks/folder-cycles.mjs')).href
)) as { readonly folderCycles: (modules: readonly Module[]) => readonly Cycle[] };

/** Modules with one import each, written as `from to`. */
function imports(...lines: readonly string[]): readonly Module[] {
  return lines.map((line) => {
    const [source = '', resolved = ''] = line.split(' ');
    return { source, dependencies: [{ resolved }] };
  });
}

// layers.test.ts runs the check on the repository.
describe('the check of cycles among folders', () => {
  it('finds folders that import each other through different files, over any distance', () => {
    const found = folderCycles(
      imports('lib/a/x.ts lib/b/x.ts', 'lib/b/y.ts lib/c/deep/x.ts', 'lib/c/y.ts lib/a/y.ts'),
    );
    expect(found).to.deep.equal([{ parent: 'lib', folders: ['a', 'b', 'c'] }]);
  });

  it('finds them in a room of a folder', () => {
    const found = folderCycles(
      imports('lib/a/one/x.ts lib/a/two/x.ts', 'lib/a/two/y.ts lib/a/one/y.ts'),
    );
    expect(found).to.deep.equal([{ parent: 'lib/a', folders: ['one', 'two'] }]);
  });

  it('ignores imports in one direction, those of tests, and files beside the folders', () => {
    const found = folderCycles(
      imports(
        'lib/a/x.ts lib/b/x.ts',
        'lib/b/x.test.ts lib/a/x.ts',
        'lib/index.ts lib/a/x.ts',
        'lib/a/x.ts lib/index.ts',
      ),
    );
    expect(found).to.deep.equal([]);
  });

  it('lets kinds refer to declarations of each other, and not to their rules', () => {
    const declared = imports(
      'controllers/snapshot/admission.ts controllers/volume/kind.ts',
      'controllers/volume/admission.ts controllers/snapshot/kind.ts',
      'controllers/volume/entry.ts controllers/volume/admission.ts',
    );
    expect(folderCycles(declared)).to.deep.equal([]);
    const rules = imports('controllers/snapshot/kind.ts controllers/volume/admission.ts');
    expect(folderCycles([...declared, ...rules])).to.deep.equal([
      { parent: 'controllers', folders: ['(declarations)', 'volume'] },
    ]);
  });
});
