import { app, containerOf, forever, hasRestarted, isReady, type Shape, type ShapeRun } from '../shape.ts';

const resources = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
const resize = (run: ShapeRun, resources: object) =>
  run.patch({ spec: { containers: [{ name: 'app', resources }] } }, '/resize');
const hasLimit = (resource: string, limit: string) => (pod: object) =>
  containerOf(pod)?.resources?.limits?.[resource] === limit;
const pending = ({ status }: { status?: { conditions?: { type: string }[] } }) =>
  status?.conditions?.some(({ type }) => type === 'PodResizePending') ?? false;
const rejected = (spec: object) => async (run: ShapeRun) => {
  await run.create(spec);
  await run.until('rejected', ({ status }) => status?.phase === 'Failed');
  await run.sleep(1_000);
  await run.end();
};

export const resizes: readonly Shape[] = [
  {
    name: 'resize-cpu',
    run: async (run) => {
      await run.create({ containers: [app(forever, { resources: resources('50m', '32Mi') })] });
      await run.untilReady();
      await run.sleep(1_000);
      await resize(run, { requests: { cpu: '60m' }, limits: { cpu: '60m' } });
      await run.until('resized', hasLimit('cpu', '60m'));
      await run.sleep(2_000);
      await run.end();
    },
  },
  {
    name: 'resize-memory-with-restart',
    run: async (run) => {
      const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
      await run.create({ containers: [app(forever, { resizePolicy, resources: resources('50m', '32Mi') })] });
      await run.untilReady();
      await run.sleep(1_000);
      await resize(run, { requests: { memory: '48Mi' }, limits: { memory: '48Mi' } });
      await run.until(
        'resized',
        (pod, type) => hasRestarted()(pod, type) && hasLimit('memory', '48Mi')(pod) && isReady(pod, type),
      );
      await run.sleep(2_000);
      await run.end();
    },
  },
  {
    name: 'resize-below-usage',
    run: async (run) => {
      // Files in memory count as usage, and cannot be reclaimed without swap.
      const script = `dd if=/dev/zero of=/dev/shm/file bs=1M count=24; ${forever}`;
      await run.create({ containers: [app(script, { resources: resources('50m', '48Mi') })] });
      await run.untilReady();
      await run.sleep(1_500);
      await resize(run, { requests: { memory: '16Mi' }, limits: { memory: '16Mi' } });
      await run.sleep(4_000);
      await run.end();
    },
  },
  {
    name: 'resize-deferred',
    exclusive: true,
    run: async (run) => {
      await run.create({ containers: [app(forever, { resources: resources('100m', '32Mi') })] });
      await run.api('POST', 'pods', {
        metadata: { name: 'hog' },
        spec: {
          nodeName: 'node-a',
          terminationGracePeriodSeconds: 2,
          containers: [app(forever, { resources: { requests: { cpu: '1500m' } } })],
        },
      });
      await run.untilReady('hog');
      await run.untilReady();
      await run.sleep(1_000);
      await resize(run, { requests: { cpu: '800m' }, limits: { cpu: '800m' } });
      await run.until('deferred', pending);
      await run.sleep(1_000);
      await run.end('hog');
      await run.until('resized', hasLimit('cpu', '800m'));
      await run.sleep(2_000);
      await run.end();
    },
  },
];

export const admission: readonly Shape[] = [
  { name: 'out-of-cpu', run: rejected({ containers: [app(forever, { resources: { requests: { cpu: '64' } } })] }) },
  {
    name: 'out-of-memory-request',
    run: rejected({ containers: [app(forever, { resources: { requests: { memory: '900Gi' } } })] }),
  },
  { name: 'node-selector', run: rejected({ nodeSelector: { nowhere: 'here' }, containers: [app(forever)] }) },
  {
    name: 'node-affinity',
    run: rejected({
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: [{ matchExpressions: [{ key: 'nowhere', operator: 'Exists' }] }],
          },
        },
      },
      containers: [app(forever)],
    }),
  },
  { name: 'other-operating-system', run: rejected({ os: { name: 'windows' }, containers: [app(forever)] }) },
  {
    name: 'forbidden-sysctl',
    run: rejected({
      securityContext: { sysctls: [{ name: 'kernel.msgmax', value: '65536' }] },
      containers: [app(forever)],
    }),
  },
  {
    name: 'host-port-taken',
    pods: ['host-port-taken', 'host-port-owner'],
    run: async (run) => {
      const spec = {
        nodeName: 'node-a',
        terminationGracePeriodSeconds: 2,
        containers: [app(forever, { ports: [{ containerPort: 80, hostPort: 38081 }] })],
      };
      await run.api('POST', 'pods', { metadata: { name: 'host-port-owner' }, spec });
      await run.untilReady('host-port-owner');
      await run.create(spec);
      await run.until('rejected', ({ status }) => status?.phase === 'Failed');
      await run.sleep(500);
      await run.end();
      await run.end('host-port-owner');
    },
  },
];
