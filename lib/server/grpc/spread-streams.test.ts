import { EventEmitter } from 'node:events';
import type { ServerHttp2Stream } from 'node:http2';
import type { Server } from '@grpc/grpc-js';
import { expect } from 'chai';
import { CallPace } from './call-pace.js';
import { spreadStreams } from './spread-streams.js';

class FakeStream extends EventEmitter {
  readonly session: object;
  destroyed = false;
  closed = false;
  constructor(session: object) {
    super();
    this.session = session;
  }
}

describe('gRPC streams that one read brings', () => {
  let deferred: (() => void)[];
  let handled: FakeStream[];
  let arrive: (count: number) => FakeStream[];
  beforeEach(() => {
    deferred = [];
    handled = [];
    const pace = new CallPace<object>({ defer: (callback) => void deferred.push(callback) });
    const server = {
      _streamHandler: (_interceptors: unknown, stream: FakeStream) => void handled.push(stream),
    };
    expect(spreadStreams(server as unknown as Server, pace)).to.equal(true);
    const connection = {};
    arrive = (count) =>
      Array.from({ length: count }, () => {
        const stream = new FakeStream(connection);
        server._streamHandler([], stream);
        return stream;
      });
  });
  const turn = (): void => {
    for (const callback of deferred.splice(0)) callback();
  };

  it('are handed to grpc-js in several turns of the event loop, in order', () => {
    const streams = arrive(20);
    expect(handled).to.have.length(8);
    turn();
    expect(handled).to.have.length(16);
    turn();
    expect(handled).to.deep.equal(streams);
  });

  for (const end of ['destroyed', 'closed'] as const)
    it(`are not handed to grpc-js if they are ${end} before their turn`, () => {
      const streams = arrive(9);
      const last = streams.at(-1) as FakeStream;
      last[end] = true;
      turn();
      expect(handled).to.deep.equal(streams.slice(0, 8));
    });

  it('may fail before their turn', () => {
    const last = arrive(9).at(-1) as unknown as ServerHttp2Stream;
    expect(() => last.emit('error', new Error('reset'))).not.to.throw();
  });

  it('are left as they are if grpc-js has no hook for them', () => {
    const pace = new CallPace<object>({ defer: () => undefined });
    expect(spreadStreams({} as unknown as Server, pace)).to.equal(false);
  });
});
