import {
  app,
  busybox,
  containerOf,
  forever,
  hasRestarted,
  isReady,
  isWaiting,
  pause,
  type Shape,
  type ShapeRun,
} from '../shape.ts';

const runUntilReady = (spec: object) => async (run: ShapeRun) => {
  await run.create(spec);
  await run.untilReady();
  await run.end();
};
const runUntilEnded = (spec: object) => async (run: ShapeRun) => {
  await run.create(spec);
  await run.untilEnded();
  await run.sleep(1_000);
  await run.end();
};

/** Pods without anything special: they run, end, crash, and are changed. */
export const podLife: readonly Shape[] = [
  { name: 'runs', run: runUntilReady({ containers: [app(forever)] }) },
  {
    name: 'three-containers',
    run: async (run) => {
      const containers = [app(forever), app(forever, { name: 'b' }), app('sleep 2; exit 0', { name: 'c' })];
      await run.create({ restartPolicy: 'OnFailure', containers });
      await run.until('c terminated', (pod) => containerOf(pod, 'c')?.state?.terminated);
      await run.sleep(1_000);
      await run.end();
    },
  },
  {
    name: 'crash-loop',
    run: async (run) => {
      const container = app('echo about to crash; sleep 1; exit 3', {
        terminationMessagePolicy: 'FallbackToLogsOnError',
      });
      await run.create({ containers: [container] });
      await run.until('restarted twice', hasRestarted(2));
      await run.sleep(2_500);
      await run.end();
    },
  },
  {
    name: 'succeeds',
    run: runUntilEnded({
      restartPolicy: 'Never',
      containers: [app('echo -n done > /dev/termination-log; sleep 1')],
    }),
  },
  { name: 'fails', run: runUntilEnded({ restartPolicy: 'Never', containers: [app('sleep 1; exit 7')] }) },
  {
    name: 'one-of-two-fails',
    run: runUntilEnded({
      restartPolicy: 'Never',
      containers: [app('sleep 3; exit 1'), app('sleep 5', { name: 'b' })],
    }),
  },
  {
    name: 'succeeds-at-second-try',
    run: runUntilEnded({
      restartPolicy: 'OnFailure',
      volumes: [{ name: 'v', emptyDir: {} }],
      containers: [
        app('sleep 1; test -e /v/x && exit 0; touch /v/x; exit 1', { volumeMounts: [{ name: 'v', mountPath: '/v' }] }),
      ],
    }),
  },
  {
    name: 'message-not-utf8',
    run: runUntilEnded({
      restartPolicy: 'Never',
      containers: [app("sleep 1; yes $(printf 'caf\\351') | head -c 5000 > /dev/termination-log; exit 1")],
    }),
  },
  {
    name: 'log-not-utf8',
    run: runUntilEnded({
      restartPolicy: 'Never',
      containers: [
        app("sleep 1; yes $(printf 'caf\\351 log') | head -c 9000; exit 1", {
          terminationMessagePolicy: 'FallbackToLogsOnError',
        }),
      ],
    }),
  },
  {
    name: 'long-termination-message',
    run: runUntilEnded({
      restartPolicy: 'Never',
      containers: [app('sleep 1; yes 0123456789 | head -c 5000 > /dev/termination-log; exit 1')],
    }),
  },
  {
    name: 'termination-message-path',
    run: runUntilEnded({
      restartPolicy: 'Never',
      containers: [app('sleep 1; echo written > /tmp/message', { terminationMessagePath: '/tmp/message' })],
    }),
  },
  { name: 'active-deadline', run: runUntilEnded({ activeDeadlineSeconds: 3, containers: [app(forever)] }) },
  {
    name: 'out-of-memory',
    run: runUntilEnded({
      restartPolicy: 'Never',
      containers: [app('sleep 1; tail /dev/zero', { resources: { limits: { memory: '16Mi' } } })],
    }),
  },
  {
    name: 'guaranteed',
    run: runUntilReady({
      containers: [app(forever, { resources: { limits: { cpu: '50m', memory: '32Mi' } } })],
    }),
  },
  { name: 'host-network', run: runUntilReady({ hostNetwork: true, containers: [app(forever)] }) },
  {
    name: 'host-port',
    run: runUntilReady({ containers: [app(forever, { ports: [{ containerPort: 8080, hostPort: 38080 }] })] }),
  },
  { name: 'host-pid', run: runUntilReady({ hostPID: true, hostIPC: true, containers: [app(forever)] }) },
  {
    name: 'readiness-gate',
    run: async (run) => {
      await run.create({ readinessGates: [{ conditionType: 'example.org/gate' }], containers: [app(forever)] });
      await run.until('running', (pod) => containerOf(pod)?.ready);
      await run.sleep(500);
      const gate = (status: string) =>
        run.patch({ status: { conditions: [{ type: 'example.org/gate', status }] } }, '/status');
      await gate('True');
      await run.untilReady();
      await run.sleep(500);
      await gate('False');
      await run.sleep(1_000);
      await run.end();
    },
  },
  {
    name: 'finalizer',
    run: async (run) => {
      await run.create({ containers: [app(forever)] }, { finalizers: ['example.org/wait'] });
      await run.untilReady();
      await run.sleep(500);
      await run.api('DELETE', `pods/${run.name}`);
      await run.until('ended', (pod) => containerOf(pod)?.state?.terminated);
      await run.sleep(2_000);
      await run.patch({ metadata: { finalizers: null } });
      await run.untilGone();
    },
  },
  {
    name: 'annotated',
    run: async (run) => {
      await run.create({ containers: [app(forever)] });
      await run.untilReady();
      await run.sleep(500);
      await run.patch({ metadata: { annotations: { a: 'b' } } });
      await run.sleep(1_000);
      await run.end();
    },
  },
  {
    name: 'deadline-added',
    run: async (run) => {
      await run.create({ containers: [app(forever)] });
      await run.untilReady();
      await run.sleep(500);
      await run.patch({ spec: { activeDeadlineSeconds: 600 } });
      await run.until('observed', ({ status }) => status?.observedGeneration === 2);
      await run.sleep(500);
      await run.end();
    },
  },
  {
    name: 'image-changed',
    run: async (run) => {
      await run.create({ containers: [app(forever)] });
      await run.untilReady();
      await run.sleep(500);
      const image = 'registry.k8s.io/e2e-test-images/busybox:1.37.0-2';
      await run.patch({ spec: { containers: [{ name: 'app', image }] } });
      await run.until('restarted', (pod, type) => hasRestarted()(pod, type) && isReady(pod, type));
      await run.end();
    },
  },
  {
    name: 'container-killed',
    run: async (run) => {
      await run.create({ containers: [app('sleep 12345; true')] });
      await run.untilReady();
      await run.sleep(700);
      run.killContainer('sleep 12345');
      await run.until('restarted', (pod, type) => hasRestarted()(pod, type) && isReady(pod, type));
      await run.end();
    },
  },
  {
    name: 'sandbox-killed',
    run: async (run) => {
      await run.create({ containers: [app(forever)] });
      const { object } = await run.untilReady();
      process.kill(run.node.machine.sandboxProcess(object.status.podIP)!, 'SIGKILL');
      await run.until('restarted', (pod, type) => hasRestarted()(pod, type) && isReady(pod, type));
      await run.sleep(1_000);
      await run.end();
    },
  },
  {
    name: 'runtime-class-missing',
    run: async (run) => {
      const { cluster } = run.node;
      const path = '/apis/node.k8s.io/v1/runtimeclasses';
      const body = { metadata: { name: 'unknown-handler' }, handler: 'unknown-handler' };
      if ((await cluster.request('GET', `${path}/unknown-handler`)) === undefined) {
        await cluster.request('POST', path, body);
      }
      await run.create({ runtimeClassName: 'unknown-handler', containers: [app(forever)] });
      await run.untilEvent('FailedCreatePodSandBox');
      await run.sleep(5_000);
      await run.end();
    },
  },
  {
    name: 'no-such-command',
    run: async (run) => {
      await run.create({ containers: [{ name: 'app', image: busybox, command: ['/no/such/file'] }] });
      // Whether the first two tries end as RunContainerError or as CrashLoopBackOff depends on when the relist comes: a
      // sandbox that it shows without the failed container is one more event. The next try is 20 s away.
      await run.until('restarted twice', hasRestarted(2));
      await run.sleep(5_000);
      await run.end();
    },
  },
  {
    name: 'run-as-non-root',
    run: async (run) => {
      await run.create({ containers: [app(forever, { securityContext: { runAsNonRoot: true } })] });
      await run.until('refused', isWaiting('CreateContainerConfigError'));
      await run.end();
    },
  },
  {
    name: 'image-without-command',
    run: runUntilReady({ containers: [{ name: 'app', image: pause }] }),
  },
  {
    name: 'user-and-groups',
    run: runUntilReady({
      securityContext: { runAsUser: 1000, runAsGroup: 2000, supplementalGroups: [3000], fsGroup: 4000 },
      containers: [app(forever), app(forever, { name: 'b', securityContext: { runAsUser: 1001 } })],
    }),
  },
];
