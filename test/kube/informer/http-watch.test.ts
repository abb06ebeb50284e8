import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KubeTransport } from '../../../src/kube/http/index.ts';
import { createKubeTransport } from '../../../src/kube/http/transport.ts';
import type { InformerPodManager } from '../../../src/kube/informer/index.ts';
import { createInformerPodManager } from '../../../src/kube/informer/index.ts';
import { FakeClock } from '../../../src/testing/fake-clock.ts';
import type { Pod } from '../../../src/kube/objects/types.ts';
import { kubeConfig } from '../http/kube-configs.ts';
import type { KubeServer } from '../http/kube-server.ts';
import { json, startKubeServer } from '../http/kube-server.ts';
import { pod, recordingLogger } from './pods.ts';

let server: KubeServer;
let transport: KubeTransport;
let pods: InformerPodManager;
let clock: FakeClock;
let onWatch: (response: ServerResponse, resourceVersion: string | null) => void;

beforeEach(async () => {
  server = await startKubeServer();
  server.respond = ({ url }, response) => {
    const query = new URL(url, server.url).searchParams;
    if (query.get('watch') === 'true') onWatch(response, query.get('resourceVersion'));
    else json(response, { kind: 'PodList', metadata: { resourceVersion: '10' }, items: [] });
  };
  transport = createKubeTransport(kubeConfig(server.url), { env: {} });
  clock = new FakeClock();
  pods = createInformerPodManager({
    client: { transport },
    nodeName: 'node-a',
    clock,
    random: () => 0,
    logger: recordingLogger(),
  });
});
afterEach(async () => {
  await pods.stop();
  await transport.closeIdle();
  await server.quiet();
  await server[Symbol.asyncDispose]();
});

/** Resolves with the next pod that is added. */
function nextAdded(): Promise<Pod> {
  return new Promise((resolve) => {
    const end = pods.subscribe({
      onPodAdded: (added) => {
        end();
        resolve(added);
      },
    });
  });
}

const event = (type: string, object: object): Buffer => Buffer.from(`${JSON.stringify({ type, object })}\n`);

describe('over a real connection', () => {
  it('a character that is split over two chunks is decoded correctly', async () => {
    const bytes = event('ADDED', pod('a', '11', 'uid-a', { note: '日本語🦜' }));
    const split = bytes.indexOf(Buffer.from('🦜')) + 2;
    onWatch = (response) => {
      response.write(bytes.subarray(0, split), () => setImmediate(() => response.write(bytes.subarray(split))));
    };
    const added = nextAdded();
    pods.start();
    expect((await added).metadata?.annotations).toEqual({ note: '日本語🦜' });
  });

  it('a connection that is cut within an event is resumed from the event before', async () => {
    const versions: (string | null)[] = [];
    onWatch = (response, resourceVersion) => {
      versions.push(resourceVersion);
      if (versions.length === 1) {
        response.write(event('ADDED', pod('a', '11')));
        response.write('{"type":"ADDED","object":{"meta', () => response.destroy());
      } else response.write(event('ADDED', pod('b', '12')));
    };
    const first = nextAdded();
    pods.start();
    expect((await first).metadata?.name).toBe('a');
    const second = new Promise<void>((resolve) => {
      pods.subscribe({ onPodAdded: ({ metadata }) => (metadata?.name === 'b' ? resolve() : undefined) });
    });
    // The back-off begins when the cut has arrived, which is a matter of the operating system.
    while (versions.length < 2) {
      clock.advance(800);
      await clock.yieldToEventLoop();
    }
    await second;
    expect(versions).toEqual(['10', '11']);
  });

  it('stop() ends the watch on the server’s side too', async () => {
    const opened = new Promise<void>((resolve) => {
      onWatch = (response) =>
        response.write(event('BOOKMARK', { metadata: { resourceVersion: '11' } }), () => resolve());
    });
    pods.start();
    await opened;
    await pods.stop();
    await transport.closeIdle();
    await server.quiet();
    expect(server.openSockets()).toBe(0);
    expect(clock.pendingTimers).toBe(0);
  });
});
