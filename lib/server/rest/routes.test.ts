import { expect } from 'chai';
import { fastifyPath, RouteMatcher } from './routes.js';
import type { methodTable } from '../../rpc/index.js';

describe('routes', () => {
  it('maps paths of custom verbs so that a verb is not part of the name', () => {
    expect(fastifyPath('/v1/namespaces/{namespace}/lamps/{name}:dim')).to.equal(
      '/v1/namespaces/:namespace/lamps/:name(^[^:]+)::dim',
    );
    expect(fastifyPath('/v1/nodes:watch')).to.equal('/v1/nodes::watch');
  });

  it('a path determines its methods; a name ends at a colon and may contain an encoded slash', () => {
    const route = (verb: 'GET' | 'POST', path: string) => ({
      ...({} as ReturnType<typeof methodTable>[number]),
      route: { method: verb, path, body: '' },
    });
    const matcher = new RouteMatcher(
      [route('GET', '/v1/{namespace}/x/{name}'), route('POST', '/v1/{namespace}/x/{name}:go')],
      [],
    );
    expect(matcher.methodsOf('/v1/a/x/b')).to.deep.equal(['GET']);
    expect(matcher.methodsOf('/v1/a/x/b/')).to.deep.equal(['GET']);
    expect(matcher.methodsOf('/v1/a/x/b%2Fc')).to.deep.equal(['GET']);
    expect(matcher.methodsOf('/v1/a/x/b:go')).to.deep.equal(['POST']);
    expect(matcher.methodsOf('/v1/a/x/b/c')).to.deep.equal([]);
    expect(matcher.methodsOf('/v1/a/x/%ff')).to.deep.equal(['GET']);
  });
});
