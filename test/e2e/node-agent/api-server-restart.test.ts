import { expect, it } from 'vitest';
import type { Container } from 'kubelet-status-manager';
import { uniqueName } from '../../contract/pod-api.ts';
import { expectLife } from './expect-life.ts';
import type { LivePod } from './live-pod.ts';
import { describeOnServers } from './on-servers.ts';

const app: Container = { name: 'app', image: 'app:1' };
const init: Container = { name: 'init', image: 'app:1' };

/** It takes a while to connect again, and to start a kube-apiserver. */
const timeoutMs = 60_000;

describeOnServers(
  'the API server crashes and starts again',
  () => ({}),
  (cluster) => {
    it(
      'pods in every stage continue during a restart of the API server, and their changes are written afterwards',
      async (context) => {
        const starting = await cluster().create(uniqueName('starting'), { initContainers: [init], containers: [app] });
        const job = await cluster().create(uniqueName('job'), { restartPolicy: 'Never', containers: [app] });
        const crashing = await cluster().create(uniqueName('crashing'), { containers: [app] });
        cluster().runtime.script('leaving', { stopMs: Number.POSITIVE_INFINITY });
        const isAsked = new Promise<void>((resolve) => {
          cluster().commands.set('leave', () => Promise.resolve(resolve()));
        });
        const preStop = { exec: { command: ['leave'] } };
        const leaving = await cluster().create(uniqueName('leaving'), {
          containers: [{ ...app, name: 'leaving', lifecycle: { preStop } }],
        });
        await starting.shows('Pending: init running, app PodInitializing');
        for (const pod of [job, crashing]) await pod.shows('Running Ready: app running');
        await leaving.shows('Running Ready: leaving running');
        await leaving.delete();
        await leaving.shows('Running Ready terminating: leaving running');
        await isAsked;

        await cluster().outage(async () => {
          await starting.exit('init');
          await job.exit('app', { exitCode: 9 });
          await crashing.exit('app', { exitCode: 2 });
          await leaving.exit('leaving');
          await cluster().until(() => cluster().runtime.container(starting.uid, 'app')?.state === 'running');
          await cluster().until(() => cluster().runtime.container(crashing.uid, 'app')?.attempt === 1);
        });

        const remove = (pod: LivePod) => pod.delete();
        const started = ['Pending', '(Pending: app ContainerCreating)', 'Running Ready: app running'];
        await Promise.all([
          expectLife(
            starting,
            [
              'Pending',
              '(Pending: init PodInitializing, app PodInitializing)',
              'Pending: init running, app PodInitializing',
              '(Pending: init exit 0, app PodInitializing)',
              ['Running Ready: init exit 0, app running', remove],
              '(Running Ready terminating: init exit 0, app running)',
              'Failed terminating: init exit 0, app exit 143',
              'gone',
            ],
            context,
          ),
          expectLife(
            job,
            [
              ...started,
              '(Running: app exit 9)',
              ['Failed: app exit 9', remove],
              'Failed terminating: app exit 9',
              'gone',
            ],
            context,
          ),
          expectLife(
            crashing,
            [
              ...started,
              '(Running: app exit 2)',
              ['Running Ready: app#1 running after exit 2', remove],
              '(Running Ready terminating: app#1 running after exit 2)',
              'Failed terminating: app#1 exit 143 after exit 2',
              'gone',
            ],
            context,
          ),
          expectLife(
            leaving,
            [
              'Pending',
              '(Pending: leaving ContainerCreating)',
              'Running Ready: leaving running',
              'Running Ready terminating: leaving running',
              '(Running terminating: leaving exit 0)',
              // The agent may be connected again before the test is.
              '(Succeeded terminating: leaving exit 0)',
              'gone',
            ],
            context,
          ),
        ]);
        expect([starting, job, crashing, leaving].map(({ starts }) => starts)).toEqual([
          { init: 1, app: 1 },
          { app: 1 },
          { app: 2 },
          { leaving: 1 },
        ]);
        expect(cluster().agent.inspect().statusManager.outage).toBeUndefined();
      },
      timeoutMs,
    );

    it(
      'a pod that is force-deleted as soon as the API server is back is killed',
      async (context) => {
        const pod = await cluster().create(uniqueName('forced'), { containers: [app] });
        const again = async (): Promise<void> => {
          await cluster().outage(() => Promise.resolve());
          await pod.delete({ gracePeriodSeconds: 0 });
        };
        const life = [
          'Pending',
          '(Pending: app ContainerCreating)',
          ['Running Ready: app running', again],
          '(Running Ready terminating: app running)',
          ['gone', () => cluster().until(() => !pod.runs)],
        ] as const;
        await expectLife(pod, life, context);
        expect(pod.starts).toEqual({ app: 1 });
      },
      timeoutMs,
    );
  },
);
