import { expect, it } from 'vitest';
import type { Container } from 'kubelet-status-manager';
import { uniqueName } from '../../contract/pod-api.ts';
import { expectLife } from './expect-life.ts';
import type { Step } from './live-pod.ts';
import { describeOnServers } from './on-servers.ts';

const image = 'app:1';
const app: Container = { name: 'app', image };
/** Does not end when it is asked to. */
const stubborn: Container = { name: 'stubborn', image };

const running = ['Pending', '(Pending: app ContainerCreating)'];
const force = { gracePeriodSeconds: 0 };

describeOnServers(
  'the end of a pod',
  () => ({}),
  (cluster) => {
    it.concurrent('a container runs until its preStop hook has ended, and then has the rest of the grace period', async (context) => {
      let endHook = (): void => {};
      const hook = new Promise<void>((resolve) => (endHook = resolve));
      let wasCalled = false;
      cluster().commands.set('drain', () => {
        wasCalled = true;
        return hook;
      });
      const preStop = { exec: { command: ['drain'] } };
      const pod = await cluster().create(uniqueName('pre-stop'), { containers: [{ ...app, lifecycle: { preStop } }] });
      const atHook: Step = () => {
        context.expect(wasCalled).toBe(true);
        context.expect(pod.stops).toEqual([]);
        context.expect(pod.runs).toBe(true);
        endHook();
      };
      const life = [
        ...running,
        ['Running Ready: app running', () => pod.delete()],
        [
          'Running Ready terminating: app running',
          () =>
            cluster()
              .until(() => wasCalled)
              .then(() => atHook(pod)),
        ],
        'Failed terminating: app exit 143',
        'gone',
      ] as const;
      await expectLife(pod, life, context);
      context.expect(pod.stops).toEqual([expect.stringMatching(/^app (29|30)$/)]);
    });

    it.concurrent('a container that does not stop is killed after the grace period', async (context) => {
      cluster().runtime.script('stubborn', { stopMs: Number.POSITIVE_INFINITY });
      const pod = await cluster().create(uniqueName('stubborn'), {
        containers: [stubborn],
        terminationGracePeriodSeconds: 2,
      });
      const life = [
        'Pending',
        '(Pending: stubborn ContainerCreating)',
        ['Running Ready: stubborn running', () => pod.delete()],
        'Running Ready terminating: stubborn running',
        'Failed terminating: stubborn exit 137',
        'gone',
      ] as const;
      await expectLife(pod, life, context);
      context.expect(pod.stops).toEqual(['stubborn 2']);
    });

    it.concurrent('a second deletion shortens the grace period', async (context) => {
      cluster().runtime.script('patient', { stopMs: Number.POSITIVE_INFINITY });
      const pod = await cluster().create(uniqueName('patient'), {
        containers: [{ name: 'patient', image }],
        terminationGracePeriodSeconds: 600,
      });
      const life = [
        'Pending',
        '(Pending: patient ContainerCreating)',
        ['Running Ready: patient running', () => pod.delete()],
        ['Running Ready terminating: patient running', () => pod.delete({ gracePeriodSeconds: 2 })],
        'Failed terminating: patient exit 137',
        'gone',
      ] as const;
      await expectLife(pod, life, context);
      context.expect(pod.stops.at(-1)).toBe('patient 2');
    });

    it.concurrent('a force-deleted pod is gone immediately, and its container is stopped', async (context) => {
      const pod = await cluster().create(uniqueName('forced'), { containers: [app] });
      const life = [
        ...running,
        ['Running Ready: app running', () => pod.delete(force)],
        '(Running Ready terminating: app running)',
        ['gone', () => cluster().until(() => !pod.runs)],
      ] as const;
      await expectLife(pod, life, context);
      // 2 s, the least that a container gets, unless the agent sees no more than that the object is gone.
      context.expect(pod.stops).toEqual([expect.stringMatching(/^app (2|30)$/)]);
    });

    it.concurrent('a pod that is recreated after a forced deletion does not wait for the old one, and inherits nothing', async (context) => {
      const name = uniqueName('again');
      cluster().runtime.script('leaver', { stopMs: Number.POSITIVE_INFINITY }, {});
      const spec = { containers: [{ name: 'leaver', image }], terminationGracePeriodSeconds: 3 };
      const first = await cluster().create(name, spec);
      await first.shows('Running Ready: leaver running');
      await first.delete(force);
      await first.shows('gone');
      const second = await cluster().create(name, spec);
      const firstLife = [
        'Pending',
        '(Pending: leaver ContainerCreating)',
        'Running Ready: leaver running',
        '(Running Ready terminating: leaver running)',
        'gone',
      ];
      const secondLife = [
        'Pending',
        '(Pending: leaver ContainerCreating)',
        [
          'Running Ready: leaver running',
          async () => {
            await cluster().until(() => !first.runs);
            await second.delete();
          },
        ],
        '(Running Ready terminating: leaver running)',
        'Failed terminating: leaver exit 143',
        'gone',
      ] as const;
      await expectLife(second, [...firstLife, ...secondLife], context);
      context.expect([first.starts, second.starts]).toEqual([{ leaver: 1 }, { leaver: 1 }]);
    });

    it.concurrent('a deletion during an image pull aborts the pull, and nothing is started', async (context) => {
      cluster().runtime.delay({ method: 'pullImage', image: 'large:1' }, 3_600_000);
      const pod = await cluster().create(uniqueName('pulling'), { containers: [{ name: 'app', image: 'large:1' }] });
      const life = [
        'Pending',
        ['Pending: app ContainerCreating', () => pod.delete()],
        '(Pending terminating: app ContainerCreating)',
        // It never ran, which nobody could know for sure. Source: kubelet `TerminatePod`.
        'Failed terminating: app exit 137',
        'gone',
      ] as const;
      await expectLife(pod, life, context);
      context.expect(pod.starts).toEqual({});
    });

    it.concurrent('an evicted pod fails with the reason and stays until a user deletes it', async (context) => {
      const pod = await cluster().create(uniqueName('evicted'), { containers: [app] });
      const evict: Step = async () => {
        const wasEvicted = await cluster().agent.evict(pod.object, {
          message: 'The node was low on resource: memory.',
        });
        context.expect(wasEvicted).toBe(true);
      };
      const evicted = 'Failed (Evicted) DisruptionTarget=TerminationByKubelet: app exit 143';
      const life = [
        ...running,
        ['Running Ready: app running', evict],
        '(Running DisruptionTarget=TerminationByKubelet: app running)',
        [evicted, () => pod.delete()],
        'Failed (Evicted) terminating DisruptionTarget=TerminationByKubelet: app exit 143',
        'gone',
      ] as const;
      await expectLife(pod, life, context);
      context.expect(pod.starts).toEqual({ app: 1 });
    });
  },
);
