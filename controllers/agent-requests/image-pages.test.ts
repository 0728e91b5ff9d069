import { expect } from 'chai';
import { type JsonObject, textOf } from 'kedge/rpc';
import { FakeClock } from 'kedge/testing';
import type { NodeImage, NodeImages } from '../agent/index.js';
import { answersTo } from './answers.js';
import { imagesHere } from './image-access.js';
import { imagePageFields, imagePageOf, pageOfAnswer } from './image-pages.js';

const mebibytes = 2 ** 20;

/** Images with ids in order; three have the same time. */
const many = (count: number): readonly NodeImage[] =>
  Array.from({ length: count }, (_, index) => ({
    id: `sha256:${String(index).padStart(64, '0')}`,
    tags: [`registry.example/a-team/an-application:${index}`],
    digests: [`registry.example/a-team/an-application@sha256:${String(index).padStart(64, 'a')}`],
    sizeBytes: 1,
    createdAt: 1_700_000_000 - Math.floor(index / 3),
    ...{ origin: undefined, usedAt: undefined, users: [], labels: {} },
  }));

describe('the images of a node that do not fit into one answer', () => {
  let present: readonly NodeImage[];
  const images = {
    node: 'far',
    list: () => Promise.resolve(present),
    prune: () => Promise.resolve(present),
  } as unknown as NodeImages;
  const { signal } = new AbortController();
  const idsOf = (list: unknown): string[] =>
    (list as { readonly id: string }[]).map((image) => image.id);

  /** Reads all pages; `between` runs after the first one. */
  async function allPages(
    page: (request: JsonObject) => Promise<JsonObject>,
    { limit = 0, between = () => undefined } = {},
  ): Promise<{ readonly ids: string[]; readonly pages: number }> {
    const ids: string[] = [];
    let pageToken = '';
    let pages = 0;
    do {
      const answer = await page({ limit, pageToken });
      expect(Buffer.byteLength(JSON.stringify(answer))).to.be.lessThan(mebibytes);
      ids.push(...idsOf(answer.items));
      pageToken = textOf(answer, 'nextPageToken');
      pages += 1;
      if (pages === 1) between();
    } while (pageToken !== '');
    return { ids, pages };
  }
  const here = (request: JsonObject) => imagesHere(images).list(signal, imagePageOf(request));
  /** The answer of an agent. */
  async function answered(listImages: JsonObject): Promise<JsonObject> {
    const input = (async function* (): AsyncIterable<JsonObject> {})();
    const received = { request: { listImages }, input, gone: new AbortController() };
    for await (const answer of answersTo(
      { node: 'far', runtimes: [], images, clock: new FakeClock() },
      received,
    ))
      return (answer.images ?? answer) as JsonObject;
    return {};
  }
  /** As the server asks an agent. */
  async function byAgent(request: JsonObject): Promise<JsonObject> {
    const page = imagePageOf(request);
    return pageOfAnswer(await answered(imagePageFields(page)), page);
  }

  it('are listed in pages of bounded size, here and by the agent of another node', async () => {
    present = many(20_000);
    expect(Buffer.byteLength(JSON.stringify(present))).to.be.greaterThan(4 * mebibytes);
    const ids = present.map(({ id }) => id);
    for (const page of [here, byAgent])
      for (const [limit, pages] of [
        [0, 40],
        [10_000, 13],
      ] as const) {
        const read = await allPages(page, { limit });
        expect(read.ids).to.deep.equal(ids);
        expect(read.pages).to.equal(pages);
      }
  });

  it('are listed once each although some are removed and created between two pages', async () => {
    present = many(30);
    const before = idsOf(present);
    const { ids } = await allPages(here, {
      limit: 10,
      between: () => {
        const created = { ...many(1)[0]!, id: 'sha256:new', createdAt: 1_800_000_000 };
        // With the last image of the first page.
        present = [created, ...present.filter((_, index) => index !== 9 && index !== 15)];
      },
    });
    expect(ids).to.deep.equal(before.filter((_, index) => index !== 15));
  });

  it('are all in one answer to a server of an earlier release, which requests no page, or are refused', async () => {
    present = many(2_000);
    expect(idsOf((await answered({})).items)).to.deep.equal(idsOf(present));
    expect(await answered({ limit: 0, pageToken: '' })).to.not.have.property('nextPageToken');
    present = many(20_000);
    const { failure } = await answered({});
    expect(failure).to.include({ code: 'FailedPrecondition', reason: 'TooManyImages' });
    expect((failure as JsonObject).message).to.match(
      /^node far has 20000 images, .*; upgrade the server, or on node far, list them: docker image ls$/,
    );
  });

  it('of an agent of an earlier release, which answers with all of them, are listed in pages', async () => {
    present = many(2_000);
    const { items: whole } = await answered({});
    // In its order of images of the same time.
    const items = (whole as JsonObject[]).toReversed();
    const page = (request: JsonObject): Promise<JsonObject> =>
      Promise.resolve(pageOfAnswer({ items }, imagePageOf(request)));
    for (const [limit, pages] of [
      [0, 4],
      [7, 286],
    ] as const) {
      const read = await allPages(page, { limit });
      expect(read.ids).to.deep.equal(idsOf(present));
      expect(read.pages).to.equal(pages);
    }
  });

  it('are counted if they were removed and do not fit into the answer', async () => {
    present = many(20_000);
    const answer = await imagesHere(images).prune(signal, false);
    expect(answer.removedCount).to.equal(20_000);
    expect(answer.sizeBytes).to.equal('20000');
    expect(answer.removed).to.have.length.within(1_000, 10_000);
  });

  it('are refused for an invalid token or limit', () => {
    for (const [request, words] of [
      [{ pageToken: 'x' }, /pageToken: is not of a list of images/],
      [{ limit: -1 }, /limit: -1 must be from 0 to 10000/],
      [{ limit: 10_001 }, /limit: 10001 must be/],
    ] as const)
      expect(() => imagePageOf(request)).to.throw(words);
  });
});
