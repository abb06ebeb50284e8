import { agnhost, app, forever, hasRestarted, isReady, type Shape, type ShapeRun, sh, stubborn } from '../shape.ts';

const exec = (command: string, more: object = {}) => ({ exec: { command: sh(command) }, periodSeconds: 1, ...more });
const server = 'mkdir -p /www; echo ok > /www/healthz; httpd -p 8080 -h /www;';
const runUntilReady =
  (container: object, more: object = {}) =>
  async (run: ShapeRun) => {
    await run.create({ containers: [container], ...more });
    await run.untilReady();
    await run.end();
  };
const runUntilRestarted =
  (container: object, more: object = {}) =>
  async (run: ShapeRun) => {
    await run.create({ containers: [container], ...more });
    await run.until('restarted', hasRestarted());
    await run.sleep(1_000);
    await run.end();
  };

export const probes: readonly Shape[] = [
  {
    name: 'ready-by-exec',
    run: runUntilReady(app(`touch /tmp/ok; ${forever}`, { readinessProbe: exec('cat /tmp/ok') })),
  },
  {
    name: 'ready-by-http',
    run: runUntilReady(
      app(server + forever, {
        readinessProbe: { httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 1, initialDelaySeconds: 1 },
      }),
    ),
  },
  {
    name: 'ready-by-tcp',
    run: runUntilReady(
      app(server + forever, {
        readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1, initialDelaySeconds: 3 },
      }),
    ),
  },
  {
    name: 'ready-by-grpc',
    run: runUntilReady({
      name: 'app',
      image: agnhost,
      args: ['grpc-health-checking', '--port', '5050'],
      startupProbe: { grpc: { port: 5050 }, periodSeconds: 1, failureThreshold: 10, initialDelaySeconds: 1 },
      readinessProbe: { grpc: { port: 5050 }, periodSeconds: 1 },
    }),
  },
  {
    name: 'ready-unready-ready',
    run: async (run) => {
      const script = `touch /tmp/ok; (sleep 4; rm /tmp/ok; sleep 4; touch /tmp/ok) & ${forever}`;
      await run.create({ containers: [app(script, { readinessProbe: exec('cat /tmp/ok', { failureThreshold: 1 }) })] });
      const ready = await run.untilReady();
      const unready = await run.until('unready', (pod, type) => !isReady(pod, type), { after: ready });
      await run.until('ready again', isReady, { after: unready });
      await run.end();
    },
  },
  {
    name: 'unready-while-terminating',
    run: async (run) => {
      const script = 'touch /tmp/ok; trap "rm /tmp/ok; sleep 4; exit 0" TERM; while :; do sleep 1 & wait $!; done';
      const readinessProbe = exec('cat /tmp/ok', { failureThreshold: 1 });
      await run.create({ terminationGracePeriodSeconds: 10, containers: [app(script, { readinessProbe })] });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'liveness-by-exec',
    run: runUntilRestarted(
      app(`touch /tmp/ok; (sleep 3; rm /tmp/ok) & ${forever}`, {
        livenessProbe: exec('cat /tmp/ok', { failureThreshold: 2 }),
      }),
    ),
  },
  {
    name: 'liveness-by-http',
    run: runUntilRestarted(
      app(`${server} (sleep 3; rm /www/healthz) & ${forever}`, {
        livenessProbe: {
          ...{ httpGet: { path: '/healthz', port: 8080 }, periodSeconds: 1 },
          ...{ failureThreshold: 2, initialDelaySeconds: 1 },
        },
      }),
    ),
  },
  {
    name: 'liveness-by-tcp',
    run: runUntilRestarted(app(forever, { livenessProbe: { tcpSocket: { port: 9999 }, periodSeconds: 1 } })),
  },
  {
    name: 'liveness-with-grace-period',
    run: runUntilRestarted(
      app(stubborn, {
        livenessProbe: exec('false', { failureThreshold: 1, initialDelaySeconds: 2, terminationGracePeriodSeconds: 1 }),
      }),
      { terminationGracePeriodSeconds: 8 },
    ),
  },
  {
    name: 'startup-probe',
    run: runUntilReady(
      app(`sleep 4; touch /tmp/up; ${forever}`, {
        startupProbe: exec('cat /tmp/up', { failureThreshold: 30 }),
        livenessProbe: exec('cat /tmp/up'),
      }),
    ),
  },
  { name: 'startup-fails', run: runUntilRestarted(app(forever, { startupProbe: exec('exit 3') })) },
  {
    name: 'probe-times-out',
    run: runUntilRestarted(
      app(forever, { livenessProbe: exec('sleep 10', { failureThreshold: 1, initialDelaySeconds: 3 }) }),
    ),
  },
];

export const hooks: readonly Shape[] = [
  {
    name: 'hooks',
    run: runUntilReady(
      app('trap "echo term >> /dev/termination-log; exit 0" TERM; while :; do sleep 1 & wait $!; done', {
        lifecycle: {
          postStart: { exec: { command: sh('sleep 1; echo -n poststart, > /dev/termination-log') } },
          preStop: { exec: { command: sh('echo -n prestop, >> /dev/termination-log; sleep 2') } },
        },
      }),
      { terminationGracePeriodSeconds: 10 },
    ),
  },
  {
    name: 'post-start-fails',
    run: async (run) => {
      const postStart = { exec: { command: sh('echo bad >&2; exit 9') } };
      await run.create({ containers: [app(forever, { lifecycle: { postStart } })] });
      // A status between two tries may be written or not; the next try is 20 s away.
      await run.until('restarted twice', hasRestarted(2));
      await run.sleep(5_000);
      await run.end();
    },
  },
  {
    name: 'pre-stop-fails',
    run: runUntilReady(app(forever, { lifecycle: { preStop: { exec: { command: sh('echo bad >&2; exit 9') } } } })),
  },
  {
    name: 'pre-stop-outlives-grace',
    run: runUntilReady(app(forever, { lifecycle: { preStop: { exec: { command: sh('sleep 20') } } } })),
  },
  {
    name: 'pre-stop-cut-short',
    run: async (run) => {
      // Under the kubelet, it ends within the time that it was given first.
      const lifecycle = { preStop: { exec: { command: sh('sleep 6') } } };
      await run.create({ terminationGracePeriodSeconds: 12, containers: [app(forever, { lifecycle })] });
      await run.untilReady();
      await run.sleep(500);
      await run.api('DELETE', `pods/${run.name}`);
      await run.sleep(3_000);
      await run.api('DELETE', `pods/${run.name}`, { gracePeriodSeconds: 2 });
      await run.untilGone();
    },
  },
  {
    name: 'pre-stop-sleep',
    run: runUntilReady(app(forever, { lifecycle: { preStop: { sleep: { seconds: 1 } } } })),
  },
  {
    name: 'pre-stop-http',
    run: runUntilReady(
      app(server + forever, { lifecycle: { preStop: { httpGet: { path: '/missing', port: 8080 } } } }),
    ),
  },
];
