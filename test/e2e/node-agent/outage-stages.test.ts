import { expect, it } from 'vitest';
import type { Container, Pod, PodSpec } from 'kubelet-status-manager';
import { fault } from 'kubelet-status-manager/testing';
import type { FakeRun } from '../../../src/testing/container-runtime/fake-container.ts';
import { TestCluster } from '../../agent/node-agent/test-cluster.ts';
import { PodHistory } from './pod-history.ts';

const app: Container = { name: 'app', image: 'app:1' };
const init: Container = { name: 'init', image: 'app:1' };
const probeOf = (command: string) => ({ exec: { command: [command] }, periodSeconds: 5, failureThreshold: 1 });

/** A cluster on a fake clock with one pod `web`. */
interface Stage {
  readonly cluster: TestCluster;
  readonly uid: string;
  /** Commands that fail from now on. */
  readonly failing: Set<string>;
}

interface Case {
  /** What is going on when the API server goes away for a minute. */
  readonly title: string;
  readonly spec?: Partial<PodSpec>;
  readonly runs?: Readonly<Record<string, readonly FakeRun[]>>;
  /** Brings the pod to the stage. Default: it has run for 3 s. */
  readonly before?: (stage: Stage) => unknown;
  /** What happens after 10 s without an API server. */
  readonly during?: (stage: Stage) => unknown;
  /** What the API server shows when it is there again: at first what it had, in the end the truth. */
  readonly after: readonly string[];
  /** When containers are started, in seconds after the pod was created. */
  readonly starts: Readonly<Record<string, readonly number[]>>;
}

const crash = { exitAfterMs: 1000, exitCode: 1 };
const podOf = (spec: Partial<PodSpec> = {}): Pod => ({
  metadata: { name: 'web' },
  spec: { terminationGracePeriodSeconds: 5, containers: [app], ...spec },
});
const running = 'Running Ready: app running';

const cases: readonly Case[] = [
  {
    title: 'the image of a pod is pulled',
    spec: { containers: [{ ...app, image: 'slow:1' }] },
    after: ['Pending: app ContainerCreating', running],
    starts: { app: [20] },
  },
  {
    title: 'an init container runs, which ends in the meantime',
    spec: { initContainers: [init] },
    runs: { init: [{ exitAfterMs: 20_000 }] },
    after: ['Pending: init running, app PodInitializing', 'Running Ready: init exit 0, app running'],
    starts: { init: [0], app: [20] },
  },
  {
    title: 'a container runs, which fails in the meantime and is restarted',
    runs: { app: [{ exitAfterMs: 20_000, exitCode: 3 }, {}] },
    after: [running, 'Running Ready: app#1 running after exit 3'],
    starts: { app: [0, 20] },
  },
  {
    title: 'a job runs, which completes in the meantime',
    spec: { restartPolicy: 'Never' },
    runs: { app: [{ exitAfterMs: 20_000 }] },
    after: [running, 'Succeeded: app exit 0'],
    starts: { app: [0] },
  },
  {
    title: 'a container is in a crash loop, which keeps its back-offs',
    runs: { app: [crash, crash, crash, crash, {}] },
    after: [
      'Running: app#1 exit 1 after exit 1',
      'Running: app#3 exit 1 after exit 1',
      'Running: app#3 CrashLoopBackOff after exit 1',
      'Running Ready: app#4 running after exit 1',
    ],
    starts: { app: [0, 1, 12, 33, 74] },
  },
  {
    title: 'a container is ready, and is not any more',
    spec: { containers: [{ ...app, readinessProbe: probeOf('ready') }] },
    before: ({ cluster }) => cluster.advance(6000),
    during: ({ failing }) => failing.add('ready'),
    after: [running, 'Running: app running'],
    starts: { app: [0] },
  },
  {
    title: 'a container is alive, and is not any more: it is restarted',
    spec: { containers: [{ ...app, livenessProbe: { ...probeOf('alive'), failureThreshold: 3 } }] },
    before: ({ cluster }) => cluster.advance(6000),
    during: async ({ cluster, failing }) => {
      failing.add('alive');
      await cluster.advance(15_000);
      failing.clear();
    },
    after: [running, 'Running Ready: app#1 running after exit 143'],
    starts: { app: [0, 30] },
  },
  {
    title: 'a container ends gracefully, and the object goes when the API server is there again',
    spec: { terminationGracePeriodSeconds: 30 },
    runs: { app: [{ stopMs: 20_000, stopExitCode: 0 }] },
    before: async ({ cluster }) => {
      await cluster.advance(3000);
      cluster.server.pods.delete('default', 'web');
      await cluster.advance(3000);
    },
    after: ['Running Ready terminating: app running', 'Succeeded terminating: app exit 0', 'gone'],
    starts: { app: [0] },
  },
  {
    title: 'a pod runs, which somebody deletes where the agent cannot see it',
    runs: { app: [{ stopMs: 5000 }] },
    during: ({ cluster }) => cluster.server.pods.delete('default', 'web'),
    after: [running, 'Running Ready terminating: app running', 'Failed terminating: app exit 143', 'gone'],
    starts: { app: [0] },
  },
  {
    title: 'a pod runs, which somebody deletes by force where the agent cannot see it',
    during: ({ cluster }) => cluster.server.pods.delete('default', 'web', { gracePeriodSeconds: 0 }),
    after: [running, 'Running Ready terminating: app running', 'gone'],
    starts: { app: [0] },
  },
  {
    title: 'a pod runs, which somebody replaces by another one of its name',
    during: ({ cluster }) => {
      cluster.server.pods.delete('default', 'web', { gracePeriodSeconds: 0 });
      cluster.runtime.delay({ method: 'createContainer' }, 500);
      return cluster.create(podOf());
    },
    after: [
      running,
      'Running Ready terminating: app running',
      'gone',
      'Pending',
      'Pending: app ContainerCreating',
      running,
    ],
    starts: { app: [0] },
  },
  {
    title: 'a pod runs, and passes its activeDeadlineSeconds',
    spec: { activeDeadlineSeconds: 20 },
    after: [running, 'Failed (DeadlineExceeded): app exit 143'],
    starts: { app: [0] },
  },
  {
    title: 'a pod runs, and is evicted',
    during: ({ cluster }) => void cluster.agent.evict(cluster.agent.getPods()[0]!, { message: 'no memory' }),
    after: [running, 'Failed (Evicted) DisruptionTarget=TerminationByKubelet: app exit 143'],
    starts: { app: [0] },
  },
];

/** How the API server is gone. */
const outages: readonly (readonly [string, (cluster: TestCluster) => Promise<() => unknown>])[] = [
  [
    'refuses connections',
    ({ server }) => {
      server.kill();
      return Promise.resolve(() => server.startAgain());
    },
  ],
  [
    'does not respond',
    ({ server }) => {
      const hanging = server.faults.next({ count: Number.POSITIVE_INFINITY }, fault.hang());
      server.faults.now({ verb: 'watch' }, fault.cut());
      return Promise.resolve(() => hanging.cancel());
    },
  ],
];

for (const [how, begin] of outages) {
  for (const { title, spec, runs = {}, before, during, after, starts } of cases) {
    it.concurrent(`the API server ${how} for a minute while ${title}`, async () => {
      await using cluster = await TestCluster.start();
      const history = new PodHistory();
      cluster.server.pods.subscribe(({ type, pod }) => {
        if (type === 'DELETED') history.removed(pod);
        else history.seen(pod);
      });
      const failing = new Set<string>();
      cluster.runtime.onExec(([command = '']) => ({ exitCode: failing.has(command) ? 1 : 0, stdout: '', stderr: '' }));
      cluster.runtime.delay({ method: 'pullImage', image: 'slow:1' }, 20_000);
      for (const [name, script] of Object.entries(runs)) cluster.runtime.script(name, ...script);
      await cluster.startAgent();
      const createdAtSeconds = cluster.seconds;
      const uid = await cluster.create(podOf(spec));
      const stage = { cluster, uid, failing };
      await (before === undefined ? cluster.advance(3000) : before(stage));

      const seenBefore = history.of('web').length - 1;
      const end = await begin(cluster);
      await cluster.advance(10_000);
      await during?.(stage);
      await cluster.advance(50_000);
      await end();
      const until = async (isMet: () => boolean): Promise<void> => {
        for (let i = 0; i < 120 && !isMet(); i++) await cluster.advance(1000);
      };
      await until(() => history.of('web').at(-1) === after.at(-1));

      expect(history.of('web').slice(seenBefore)).toEqual(after);
      for (const [name, times] of Object.entries(starts)) {
        const seconds = cluster.startTimes(uid, name).map((time) => Math.floor(time - createdAtSeconds));
        expect({ [name]: seconds }).toEqual({ [name]: times });
      }
      if (history.pod('web') !== undefined) cluster.server.pods.delete('default', 'web');
      await until(() => history.of('web').at(-1) === 'gone' && cluster.agent.inspect().podWorkers.length === 0);
      await until(() => cluster.agent.inspect().statusManager.pods.length === 0);
      expect(history.of('web').at(-1)).toBe('gone');
      expect(history.problems).toEqual([]);
      expect(cluster.agent.inspect()).toMatchObject({ podWorkers: [], statusManager: { pods: [] } });
      expect(cluster.agent.inspect().statusManager.outage).toBeUndefined();
      expect(cluster.runtime.container(uid, 'app')?.state).not.toBe('running');
      const started = cluster.runtime.callsOf({ method: 'startContainer' }).map(({ containerID }) => containerID);
      expect(new Set(started).size).toBe(started.length);
    });
  }
}
