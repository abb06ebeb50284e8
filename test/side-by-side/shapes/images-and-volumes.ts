import { join } from 'node:path';
import { privateImage, registry, registryUser, servePrivateImage } from '../../support/node/private-registry.ts';
import { app, busybox, containerOf, forever, isWaiting, type Shape, type ShapeRun } from '../shape.ts';

const untilWaiting =
  (reason: string, spec: object, afterwardsMs = 0) =>
  async (run: ShapeRun) => {
    await run.create(spec);
    await run.until(`waiting: ${reason}`, isWaiting(reason));
    await run.sleep(afterwardsMs);
    await run.end();
  };
const remake = async (run: ShapeRun, kind: 'configmaps' | 'secrets', name: string, data: object) => {
  await run.api('DELETE', `${kind}/${name}`);
  await run.api('POST', kind, { metadata: { name }, [kind === 'secrets' ? 'stringData' : 'data']: data });
};

const pullSecret = {
  metadata: { name: 'pull-secret' },
  type: 'kubernetes.io/dockerconfigjson',
  stringData: { '.dockerconfigjson': JSON.stringify({ auths: { [registry]: registryUser } }) },
};

export const images: readonly Shape[] = [
  {
    name: 'registry-unreachable',
    run: untilWaiting('ImagePullBackOff', { containers: [app(forever, { image: '127.0.0.1:1/none/none:1' })] }, 3_000),
  },
  {
    name: 'image-name-invalid',
    run: untilWaiting('InvalidImageName', { containers: [app(forever, { image: 'BAD//name' })] }, 2_000),
  },
  {
    name: 'image-never-pulled',
    run: untilWaiting(
      'ErrImageNeverPull',
      { containers: [app(forever, { image: 'docker.io/library/none:1', imagePullPolicy: 'Never' })] },
      2_000,
    ),
  },
  {
    name: 'second-image-missing',
    run: async (run) => {
      const missing = app(forever, { name: 'b', image: 'docker.io/library/none:1', imagePullPolicy: 'Never' });
      await run.create({ containers: [app(forever), missing] });
      await run.until('b waiting', isWaiting('ErrImageNeverPull', 'b'));
      await run.end();
    },
  },
  {
    name: 'image-repaired',
    run: async (run) => {
      await run.create({ containers: [app(forever, { image: 'BAD//name' })] });
      await run.until('waiting', isWaiting('InvalidImageName'));
      await run.sleep(1_000);
      await run.patch({ spec: { containers: [{ name: 'app', image: 'docker.io/library/busybox:1' }] } });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'private-image',
    pods: ['private-image', 'private-image-without-secret'],
    run: async (run) => {
      const { machine } = run.node;
      const layout = join(machine.folder, 'private-image');
      await machine.exportImage(busybox, layout);
      const endRegistry = await servePrivateImage(layout);
      try {
        await run.api('DELETE', 'secrets/pull-secret');
        await run.api('POST', 'secrets', pullSecret);
        const spec = { containers: [app(forever, { image: privateImage })] };
        await run.create({ ...spec, imagePullSecrets: [{ name: 'pull-secret' }] });
        await run.untilReady();
        await run.create(spec, { name: 'private-image-without-secret' });
        await run.until('without its image', isWaiting('ImagePullBackOff'), { pod: 'private-image-without-secret' });
        await run.end('private-image-without-secret');
        await run.end();
      } finally {
        await machine.removeImage(privateImage);
        endRegistry();
      }
    },
  },
];

export const volumes: readonly Shape[] = [
  {
    name: 'volumes',
    run: async (run) => {
      await remake(run, 'secrets', 's', { k: 'secret' });
      await remake(run, 'configmaps', 'c', { k: 'config', l: 'more' });
      const names = ['e', 'm', 'h', 'c', 's', 'd'];
      const script = `sleep 1
        stat -L -c '%a %u %g %n' /e /m /c /c/sub/k /s/k /d/labels > /dev/termination-log
        cat /c/sub/k /s/k /d/labels /d/cpu /sub >> /dev/termination-log
        touch /e/x /m/x && stat -c '%a %u %g %n' /e/x /m/x >> /dev/termination-log`;
      await run.create(
        {
          automountServiceAccountToken: true,
          restartPolicy: 'Never',
          securityContext: { fsGroup: 2000 },
          volumes: [
            { name: 'e', emptyDir: {} },
            { name: 'm', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } },
            { name: 'h', hostPath: { path: '/var/tmp/side-by-side', type: 'DirectoryOrCreate' } },
            { name: 'c', configMap: { name: 'c', items: [{ key: 'k', path: 'sub/k', mode: 0o440 }] } },
            { name: 's', secret: { secretName: 's', defaultMode: 0o400 } },
            {
              name: 'd',
              downwardAPI: {
                items: [
                  { path: 'labels', fieldRef: { fieldPath: 'metadata.labels' } },
                  { path: 'cpu', resourceFieldRef: { containerName: 'app', resource: 'requests.cpu', divisor: '1m' } },
                ],
              },
            },
          ],
          containers: [
            app(script, {
              resources: { requests: { cpu: '10m' } },
              volumeMounts: [
                ...names.map((name) => ({ name, mountPath: `/${name}` })),
                { name: 'c', mountPath: '/sub', subPath: 'sub/k', readOnly: true },
              ],
            }),
          ],
        },
        { labels: { a: 'b' } },
      );
      await run.untilEnded();
      await run.end();
    },
  },
  {
    name: 'environment',
    run: async (run) => {
      await remake(run, 'configmaps', 'environment', { k: 'config' });
      const env = [
        { name: 'X1', value: 'a' },
        { name: 'X2', value: '$(X1)b$$(X1)$(NO)' },
        { name: 'XNAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
        { name: 'XNODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
        { name: 'XHOST', valueFrom: { fieldRef: { fieldPath: 'status.hostIP' } } },
        { name: 'XCPU', valueFrom: { resourceFieldRef: { resource: 'requests.cpu', divisor: '1m' } } },
        { name: 'XOPT', valueFrom: { configMapKeyRef: { name: 'none', key: 'k', optional: true } } },
      ];
      const container = app('sleep 1; env | grep ^X | sort > /dev/termination-log', {
        ...{ env, envFrom: [{ prefix: 'XC_', configMapRef: { name: 'environment' } }] },
        resources: { requests: { cpu: '10m' } },
      });
      await run.create({ restartPolicy: 'Never', containers: [container] });
      await run.untilEnded();
      await run.end();
    },
  },
  {
    name: 'config-map-volume-missing',
    run: async (run) => {
      await run.api('DELETE', 'configmaps/late');
      const volumeMounts = [{ name: 'v', mountPath: '/etc/v' }];
      await run.create({
        volumes: [{ name: 'v', configMap: { name: 'late' } }],
        containers: [app(forever, { volumeMounts })],
      });
      await run.untilEvent('FailedMount');
      await run.sleep(1_000);
      await run.api('POST', 'configmaps', { metadata: { name: 'late' }, data: { a: '1' } });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'config-map-variable-missing',
    run: async (run) => {
      await run.api('DELETE', 'configmaps/late-variable');
      const env = [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'late-variable', key: 'a' } } }];
      await run.create({ containers: [app(forever, { env })] });
      await run.until('waiting', isWaiting('CreateContainerConfigError'));
      await run.sleep(1_000);
      await run.api('POST', 'configmaps', { metadata: { name: 'late-variable' }, data: { a: '1' } });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'secret-key-missing',
    run: async (run) => {
      await remake(run, 'secrets', 'no-such-key', { k: 'v' });
      const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 'no-such-key', key: 'other' } } }];
      await run.create({ containers: [app(forever, { env })] });
      await run.until('waiting', isWaiting('CreateContainerConfigError'));
      await run.end();
    },
  },
  {
    name: 'host-path-of-other-type',
    run: async (run) => {
      await run.create({
        volumes: [{ name: 'v', hostPath: { path: '/etc/passwd', type: 'Directory' } }],
        containers: [app(forever, { volumeMounts: [{ name: 'v', mountPath: '/v' }] })],
      });
      await run.untilEvent('FailedMount');
      await run.sleep(1_000);
      await run.end();
    },
  },
  {
    name: 'projected-token',
    run: async (run) => {
      await run.create({ automountServiceAccountToken: true, containers: [app(forever)] });
      await run.untilReady();
      await run.end();
    },
  },
  {
    name: 'read-only-mount',
    run: async (run) => {
      const volumeMounts = [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'Disabled' }];
      await run.create({
        restartPolicy: 'Never',
        volumes: [{ name: 'v', emptyDir: {} }],
        containers: [app('sleep 1; touch /v/x 2> /dev/termination-log', { volumeMounts })],
      });
      await run.until('ended', (pod) => containerOf(pod)?.state?.terminated);
      await run.untilEnded();
      await run.end();
    },
  },
];
