import { afterEach, beforeEach, expect, it } from 'vitest';
import { apiSource, type PodSink, type PodSource, type PodSourceContext } from 'kubelet-status-manager/agent';
import { TestCluster } from './test-cluster.ts';

let cluster: TestCluster;
beforeEach(async () => {
  cluster = await TestCluster.start();
});
afterEach(() => cluster[Symbol.asyncDispose]());

/** Static pods from a store, as a user writes such a source. */
class StoreSource implements PodSource {
  readonly name = 'store';
  #deliver: (manifests: readonly object[]) => void = () => {};

  start(sink: PodSink, { staticPods }: PodSourceContext): void {
    this.#deliver = (manifests) => sink(manifests.flatMap((manifest) => staticPods(manifest, 'store:pods')));
    this.set([]);
  }

  async stop(): Promise<void> {
    this.#deliver = () => {};
  }

  set(manifests: readonly object[]): void {
    this.#deliver(manifests);
  }
}

const web = {
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: { terminationGracePeriodSeconds: 1, containers: [{ name: 'app', image: 'app:1' }] },
};

it('the pods of a source of the user run beside those of the API server, and have mirror pods', async () => {
  const store = new StoreSource();
  const agent = await cluster.startAgent({ sources: [store] });
  store.set([web]);
  await cluster.create({ metadata: { name: 'bound' }, spec: { containers: [{ name: 'app', image: 'app:1' }] } });
  await cluster.advance(3000);
  await agent.whenReady();
  expect(agent.getPods().map(({ metadata }) => metadata?.name)).toEqual(['web-node-a', 'bound']);
  expect(cluster.pod('web-node-a')).toMatchObject({
    metadata: { annotations: { 'kubernetes.io/config.source': 'store' } },
    status: { phase: 'Running' },
  });

  store.set([]);
  await cluster.advance(8000);
  expect(cluster.pod('web-node-a')).toBeUndefined();
  expect(agent.getPods().map(({ metadata }) => metadata?.name)).toEqual(['bound']);
  expect(cluster.logger.errors).toEqual([]);
});

it('a source that cannot start or stop is logged and waited for, and the pods of the others run', async () => {
  const broken: PodSource = {
    name: 'broken',
    start: () => {
      throw new Error('no such store');
    },
    stop: async () => {},
  };
  const store = new StoreSource();
  store.stop = () => Promise.reject(new Error('no connection'));
  const agent = await cluster.startAgent({ sources: [broken, store] });
  await cluster.create({ metadata: { name: 'bound' }, spec: { containers: [{ name: 'app', image: 'app:1' }] } });
  await cluster.advance(15_000);
  expect(cluster.status('bound')).toMatchObject({ phase: 'Running' });
  expect(agent.inspect().syncLoop.waitingForSources).toEqual(['broken']);
  await cluster.stopAgent();
  expect(cluster.logger.errors).toMatchObject([
    { fields: { source: 'broken', reason: 'no such store' }, message: 'Failed to start a pod source' },
    { fields: { source: 'store', reason: 'no connection' }, message: 'Failed to stop a pod source' },
  ]);
});

it('a source that does not stop delays stop() by 10 s at most, and that is logged', async () => {
  const store = new StoreSource();
  const agent = await cluster.startAgent({ sources: [store] });
  store.stop = () => new Promise(() => {});
  const stopped = agent.stop();
  await cluster.advance(10_000);
  await stopped;
  expect(cluster.logger.errors).toMatchObject([
    { fields: { source: 'store', reason: 'stop of the source store took over 10000 ms' } },
  ]);
});

it('a source serves one agent at a time, and the next one after that', async () => {
  const source = apiSource();
  const first = await cluster.startAgent({ sources: [source] });
  const second = await cluster.startAgent({ sources: [source] });
  expect(cluster.logger.errors).toMatchObject([
    { fields: { source: 'api', reason: 'Another agent uses this source' } },
  ]);
  await second.stop();
  await first.stop();
  await cluster.startAgent({ sources: [source] });
  await cluster.agent.whenReady();
});
