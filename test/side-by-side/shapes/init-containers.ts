import {
  app,
  containerOf,
  forever,
  hasRestarted,
  isReady,
  isWaiting,
  type Shape,
  type ShapeRun,
  stubborn,
} from '../shape.ts';

const sidecar = (script: string, more: object = {}) => app(script, { name: 'side', restartPolicy: 'Always', ...more });
const started = { startupProbe: { exec: { command: ['true'] }, periodSeconds: 1 } };
const createAndEnd = (spec: object) => async (run: ShapeRun) => {
  await run.create(spec);
  await run.untilEnded();
  await run.sleep(1_000);
  await run.end();
};

/** Init containers, and sidecars in every state. */
export const initContainers: readonly Shape[] = [
  {
    name: 'init-containers',
    run: async (run) => {
      const initContainers = [app('sleep 1', { name: 'first' }), app('sleep 1', { name: 'second' })];
      await run.create({ initContainers, containers: [app(forever)] });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'init-fails',
    run: createAndEnd({
      restartPolicy: 'Never',
      initContainers: [app('sleep 1; exit 5', { name: 'first' })],
      containers: [app(forever)],
    }),
  },
  {
    name: 'init-crash-loop',
    run: async (run) => {
      await run.create({ initContainers: [app('sleep 1; exit 5', { name: 'first' })], containers: [app(forever)] });
      await run.until('restarted', hasRestarted(1, 'first'));
      await run.sleep(3_000);
      await run.end();
    },
  },
  {
    name: 'init-succeeds-at-second-try',
    run: async (run) => {
      const volumeMounts = [{ name: 'v', mountPath: '/v' }];
      const first = app('sleep 1; test -e /v/x && exit 0; touch /v/x; exit 1', { name: 'first', volumeMounts });
      await run.create({
        volumes: [{ name: 'v', emptyDir: {} }],
        initContainers: [first],
        containers: [app(forever)],
      });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'init-deleted',
    run: async (run) => {
      await run.create({
        initContainers: [app('sleep 30', { name: 'first' })],
        containers: [app(forever)],
      });
      await run.until('initialising', (pod) => containerOf(pod, 'first')?.state?.running);
      await run.end();
    },
  },
  {
    name: 'sidecar-of-job',
    run: createAndEnd({
      restartPolicy: 'Never',
      initContainers: [sidecar(forever, started), app('sleep 1', { name: 'second' })],
      containers: [app('sleep 3')],
    }),
  },
  {
    name: 'sidecar-of-failing-job',
    run: createAndEnd({
      restartPolicy: 'Never',
      initContainers: [sidecar(forever)],
      containers: [app('sleep 2; exit 4')],
    }),
  },
  {
    name: 'sidecar-crashes',
    run: async (run) => {
      await run.create({ initContainers: [sidecar('sleep 2; exit 2')], containers: [app(forever)] });
      await run.until('restarted', hasRestarted(1, 'side'));
      await run.sleep(4_000);
      await run.end();
    },
  },
  {
    name: 'sidecar-not-started',
    run: async (run) => {
      const startupProbe = { exec: { command: ['false'] }, periodSeconds: 1, failureThreshold: 3 };
      await run.create({ initContainers: [sidecar(forever, { startupProbe })], containers: [app(forever)] });
      await run.until('restarted', hasRestarted(1, 'side'));
      await run.end();
    },
  },
  {
    name: 'sidecar-becomes-ready',
    run: async (run) => {
      const readinessProbe = { exec: { command: ['cat', '/tmp/ok'] }, periodSeconds: 1 };
      const side = sidecar(`(sleep 4; touch /tmp/ok) & ${forever}`, { readinessProbe });
      await run.create({ initContainers: [side], containers: [app(forever)] });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'sidecars-terminate-in-order',
    run: async (run) => {
      const initContainers = [sidecar(forever), sidecar(forever, { name: 'side2' })];
      await run.create({ terminationGracePeriodSeconds: 10, initContainers, containers: [app(forever)] });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'sidecar-outlives-grace',
    run: async (run) => {
      await run.create({ initContainers: [sidecar(stubborn)], containers: [app(forever)] });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'sidecar-without-image',
    run: async (run) => {
      const image = 'docker.io/library/none:1';
      await run.create({
        initContainers: [sidecar(forever, { image, imagePullPolicy: 'Never' })],
        containers: [app(forever)],
      });
      await run.until('waiting', isWaiting('ErrImageNeverPull', 'side'));
      await run.end();
    },
  },
  {
    name: 'app-crashes-beside-sidecar',
    run: async (run) => {
      await run.create({ initContainers: [sidecar(forever)], containers: [app('sleep 2; exit 1')] });
      await run.until('restarted', (pod, type) => hasRestarted()(pod, type) && isReady(pod, type));
      await run.end();
    },
  },
];
