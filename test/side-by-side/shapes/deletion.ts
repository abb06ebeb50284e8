import { app, containerOf, forever, hasRestarted, isReady, isWaiting, type Shape, stubborn } from '../shape.ts';
import { namespace } from '../../support/node/cluster.ts';

/** Every way in which a pod goes away, and the states in which it may be then. */
export const deletion: readonly Shape[] = [
  {
    name: 'grace-period-ends',
    run: async (run) => {
      await run.create({ containers: [app(stubborn)] });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'deleted-by-force',
    run: async (run) => {
      await run.create({ containers: [app(stubborn)] });
      await run.untilReady();
      await run.sleep(500);
      await run.api('DELETE', `pods/${run.name}`, { gracePeriodSeconds: 0 });
      await run.sleep(4_000);
    },
  },
  {
    name: 'grace-period-shortened',
    run: async (run) => {
      await run.create({ terminationGracePeriodSeconds: 12, containers: [app(stubborn)] });
      await run.untilReady();
      await run.sleep(500);
      await run.api('DELETE', `pods/${run.name}`);
      await run.sleep(3_000);
      await run.api('DELETE', `pods/${run.name}`, { gracePeriodSeconds: 2 });
      await run.untilGone();
    },
  },
  {
    name: 'deleted-while-ending',
    run: async (run) => {
      await run.create({ activeDeadlineSeconds: 2, containers: [app(stubborn)] });
      await run.until('past its deadline', ({ status }) => status?.reason === 'DeadlineExceeded');
      await run.end();
    },
  },
  {
    name: 'deleted-in-crash-loop',
    run: async (run) => {
      await run.create({ containers: [app('sleep 1; exit 1')] });
      // The next try is 20 s away.
      await run.until('in back-off', (pod) => hasRestarted(2)(pod, 'MODIFIED') && containerOf(pod).state.terminated);
      await run.end();
    },
  },
  {
    name: 'deleted-without-image',
    run: async (run) => {
      await run.create({
        containers: [app(forever), app(forever, { name: 'b', image: '127.0.0.1:1/none/none:1' })],
      });
      await run.until('in back-off', isWaiting('ImagePullBackOff', 'b'));
      await run.end();
    },
  },
  {
    name: 'created-again',
    run: async (run) => {
      await run.create({ containers: [app(forever)] });
      const { object } = await run.untilReady();
      await run.end();
      await run.create({ containers: [app(forever)] });
      await run.until('ready again', (pod, type) => pod.metadata.uid !== object.metadata.uid && isReady(pod, type));
      await run.sleep(700);
      await run.api('DELETE', `pods/${run.name}`);
      await run.until('gone', (pod, type) => type === 'DELETED' && pod.metadata.uid !== object.metadata.uid);
    },
  },
  {
    name: 'evicted-by-api',
    run: async (run) => {
      await run.create({ containers: [app(forever)] });
      await run.untilReady();
      await run.sleep(500);
      await run.api('POST', `pods/${run.name}/eviction`, {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: { name: run.name, namespace },
      });
      await run.untilGone();
    },
  },
  {
    name: 'evicted-for-container-disk',
    run: async (run) => {
      const resources = { limits: { 'ephemeral-storage': '5Mi' } };
      const script = 'sleep 2; dd if=/dev/zero of=file bs=1M count=10; sleep 10000';
      await run.create({ restartPolicy: 'OnFailure', containers: [app(script, { resources })] });
      await run.until('evicted', ({ status }) => status?.reason === 'Evicted', { timeoutMs: 90_000 });
      await run.sleep(3_000);
      await run.end();
    },
  },
  {
    name: 'evicted-for-volume-size',
    run: async (run) => {
      const script = 'sleep 2; dd if=/dev/zero of=/e/file bs=1M count=10; sleep 10000';
      await run.create({
        volumes: [{ name: 'e', emptyDir: { sizeLimit: '5Mi' } }],
        containers: [app(script, { volumeMounts: [{ name: 'e', mountPath: '/e' }] })],
      });
      await run.until('evicted', ({ status }) => status?.reason === 'Evicted', { timeoutMs: 90_000 });
      await run.sleep(3_000);
      await run.end();
    },
  },
  {
    name: 'ephemeral-container',
    run: async (run) => {
      await run.create({ containers: [app(forever)] });
      await run.untilReady();
      const debug = app('sleep 2; exit 4', { name: 'debug', targetContainerName: 'app' });
      await run.patch({ spec: { ephemeralContainers: [debug] } }, '/ephemeralcontainers');
      await run.until('debugged', (pod) => containerOf(pod, 'debug')?.state?.terminated);
      await run.end();
    },
  },
  {
    name: 'ephemeral-container-without-image',
    run: async (run) => {
      await run.create({ containers: [app(forever)] });
      await run.untilReady();
      const debug = app('true', { name: 'debug', image: 'docker.io/library/none:1', imagePullPolicy: 'Never' });
      await run.patch({ spec: { ephemeralContainers: [debug] } }, '/ephemeralcontainers');
      await run.until('waiting', isWaiting('ErrImageNeverPull', 'debug'));
      await run.end();
    },
  },
];
