import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, it } from 'vitest';
import { fileSource } from 'kubelet-status-manager/agent';
import type { Container } from 'kubelet-status-manager';
import { uniqueName } from '../../contract/pod-api.ts';
import { TestDirectories } from '../../support/directories.ts';
import { type AgentCluster, nodeName } from './agent-cluster.ts';
import { expectLife } from './expect-life.ts';
import { LivePod, type Step } from './live-pod.ts';
import { describeOnServers } from './on-servers.ts';

const directories = new TestDirectories();
afterAll(() => directories.removeAll());
const directory = directories.create();

const fileOf = (name: string): string => path.join(directory, `${name}.json`);

/** The static pod of a manifest, with the name of its mirror pod. */
async function write(cluster: AgentCluster, name: string, container: Container): Promise<LivePod> {
  const manifest = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default' },
    spec: { terminationGracePeriodSeconds: 2, containers: [container] },
  };
  writeFileSync(fileOf(name), JSON.stringify(manifest));
  const mirrorName = `${name}-${nodeName}`;
  const find = () =>
    cluster.agent
      .getPods()
      .find(({ metadata, spec }) => metadata?.name === mirrorName && spec?.containers?.[0]?.image === container.image);
  await cluster.until(() => find() !== undefined);
  return new LivePod(cluster, find()!);
}

const started = ['Pending', '(Pending: app ContainerCreating)'];
const running = 'Running Ready: app running';
/** What a mirror pod shows of the end of its container before it goes: as much as is written by then. */
const endOf = (container: string): readonly string[] => [
  `(Running: ${container})`,
  `(Failed: ${container})`,
  `(Running terminating: ${container})`,
  `(Failed terminating: ${container})`,
];
/** A new static pod has a status before the mirror pod of the old one goes, which may show it. */
const beginningOfNext = ['(Pending: app ContainerCreating)', '(Pending terminating: app ContainerCreating)'];

describeOnServers(
  'static pods',
  () => ({ sources: [fileSource({ path: directory })] }),
  (cluster) => {
    it.concurrent('the mirror pod is created with the manifest and deleted with it', async (context) => {
      const name = uniqueName('static');
      const pod = await write(cluster(), name, { name: 'app', image: 'app:1' });
      const remove: Step = () => {
        const { annotations, ownerReferences } = pod.object.metadata!;
        context.expect(annotations).toMatchObject({ 'kubernetes.io/config.mirror': pod.uid });
        context.expect(ownerReferences).toMatchObject([{ kind: 'Node', name: nodeName, controller: true }]);
        rmSync(fileOf(name));
      };
      await expectLife(pod, [...started, [running, remove], ...endOf('app exit 143'), 'gone'], context);
      await cluster().until(() => !pod.runs);
      context.expect(pod.starts).toEqual({ app: 1 });
    });

    it.concurrent('an edited manifest starts a new pod, with a new mirror pod, when the old one has ended', async (context) => {
      const name = uniqueName('edited');
      const first = await write(cluster(), name, { name: 'app', image: 'app:1' });
      await first.shows(running);
      const second = await write(cluster(), name, { name: 'app', image: 'app:2' });
      context.expect(second.uid).not.toBe(first.uid);
      const life = [
        ...started,
        running,
        '(Running Ready terminating: app running)',
        ...endOf('app exit 143'),
        ...beginningOfNext,
        'gone',
        ...started,
        [running, () => rmSync(fileOf(name))],
        ...endOf('app exit 143'),
        'gone',
      ] as const;
      await expectLife(second, life, context);
      await cluster().until(() => !second.runs);
      context.expect([first.runs, first.starts, second.starts]).toEqual([false, { app: 1 }, { app: 1 }]);
    });

    for (const [title, options] of [
      ['deletes', undefined],
      ['deletes by force', { gracePeriodSeconds: 0 }],
    ] as const) {
      it.concurrent(`a mirror pod that a user ${title} is created again, and the static pod keeps running`, async (context) => {
        const name = uniqueName('mirror');
        const pod = await write(cluster(), name, { name: 'app', image: 'app:1' });
        const life = [
          ...started,
          [running, () => pod.delete(options)],
          '(Running Ready terminating: app running)',
          'gone',
          'Pending',
          [running, () => rmSync(fileOf(name))],
          ...endOf('app exit 143'),
          'gone',
        ] as const;
        await expectLife(pod, life, context);
        context.expect(pod.starts).toEqual({ app: 1 });
      });
    }

    it.concurrent('a static pod that ends is restarted, and its mirror pod shows it', async (context) => {
      const name = uniqueName('restarted');
      const pod = await write(cluster(), name, { name: 'app', image: 'app:1' });
      const life = [
        ...started,
        [running, () => pod.exit('app', { exitCode: 5 })],
        '(Running: app exit 5)',
        ['Running Ready: app#1 running after exit 5', () => rmSync(fileOf(name))],
        ...endOf('app#1 exit 143 after exit 5'),
        'gone',
      ] as const;
      await expectLife(pod, life, context);
      context.expect(pod.starts).toEqual({ app: 2 });
    });
  },
);
