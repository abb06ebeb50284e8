import { expect, it } from 'vitest';
import { TestCluster } from '../../agent/node-agent/test-cluster.ts';
import { PodHistory } from './pod-history.ts';

it('a crash-looping container starts after 0, 10, 20, 40 and 80 s, and each state is shown', async () => {
  await using cluster = await TestCluster.start();
  const history = new PodHistory();
  cluster.server.pods.subscribe(({ pod }) => history.seen(pod));
  cluster.runtime.script('app', { exitAfterMs: 3000, exitCode: 7 });
  // As long as a real runtime takes: each status is written before the next one is there.
  cluster.runtime.delay({ method: 'createContainer' }, 500, 6);
  await cluster.startAgent();
  const createdAtSeconds = cluster.seconds;
  const uid = await cluster.create({
    metadata: { name: 'web' },
    spec: { containers: [{ name: 'app', image: 'app:1' }] },
  });
  await cluster.advance(240_000);
  const starts = cluster.startTimes(uid, 'app').map((time) => time - createdAtSeconds);
  const exits = [0, ...starts.map((time) => time + 3)];
  expect(starts.map((time, i) => time - exits[i]!)).toEqual([0.5, 0.5, 11, 21, 41, 81]);
  const restarts = [1, 2, 3, 4, 5].flatMap((restart) => [
    `Running Ready: app#${restart} running after exit 7`,
    `Running: app#${restart} exit 7 after exit 7`,
    `Running: app#${restart} CrashLoopBackOff after exit 7`,
  ]);
  expect(history.of('web')).toEqual([
    'Pending',
    'Pending: app ContainerCreating',
    'Running Ready: app running',
    'Running: app exit 7',
    ...restarts,
  ]);
  expect(history.problems).toEqual([]);
});
