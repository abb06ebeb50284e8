import type { PodSpec } from 'kubelet-status-manager';
import type { Course } from './course.ts';

const container = (name: string) => ({ name, image: `${name}:1` });
const containers = [container('app'), container('job')];
const initContainers = [container('init')];
const afterMs = 7000;

/**
 * Each run lasts as long; the exit codes one after the other, and the last one for all that follow. In the cloud, the init
 * container runs again with its pod, and takes no time.
 */
const exits =
  (...exitCodes: readonly number[]): Course['end'] =>
  (name, run) =>
    name === 'init'
      ? { afterMs: run === 0 ? 5000 : 0, exitCode: 0 }
      : { afterMs, exitCode: exitCodes[run] ?? exitCodes.at(-1)! };
const fourthRun =
  (lastsMs: number): Course['end'] =>
  (_, run) => ({ afterMs: run === 3 ? lastsMs : afterMs, exitCode: 1 });
const failingInit: Course['end'] = (name, run) =>
  name === 'init' ? { afterMs: 5000, exitCode: run < 3 ? 1 : 0 } : undefined;
const policies = ['Always', 'OnFailure', 'Never'] as const;

const course = (end: Course['end'], spec: Partial<PodSpec> = {}, forMs = 90_000): Course => ({ spec, end, forMs });

/** What happens to a pod that shows the same on a virtual node with `restarts: 'node'` and on a kubelet. */
export const courses: Readonly<Record<string, Course>> = {
  'back-offs of 10, 20, 40, 80, 160, 300 and 300 s': course(exits(1), {}, 1_000_000),
  'a run of more than ten minutes, which resets the back-off': course(fourthRun(640_000), {}, 800_000),
  'a run of less than ten minutes, which does not': course(fourthRun(560_000), {}, 800_000),
  'Always, exit code 0': course(exits(0)),
  'OnFailure, exit codes 1, 1, 0': course(exits(1, 1, 0), { restartPolicy: 'OnFailure' }),
  'OnFailure, exit code 0': course(exits(0), { restartPolicy: 'OnFailure' }),
  'Never, exit code 0': course(exits(0), { restartPolicy: 'Never' }),
  'Never, exit code 1': course(exits(1), { restartPolicy: 'Never' }),
  ...Object.fromEntries(
    policies.flatMap((restartPolicy) => [
      [`an init container, ${restartPolicy}`, course(exits(1), { restartPolicy, initContainers })],
      [
        `an init container that fails, ${restartPolicy}`,
        { ...course(failingInit, { restartPolicy, initContainers }), uncounted: 'app' },
      ],
    ]),
  ),
  'two containers that end together': course(exits(1), { containers }),
  'two containers, one of which has ended for good': course((name) => ({ afterMs, exitCode: name === 'job' ? 0 : 1 }), {
    containers,
    restartPolicy: 'OnFailure',
  }),
  'a container with a restartPolicy of its own': course(exits(1), {
    containers: [container('app'), { ...container('job'), restartPolicy: 'Never' }],
  }),
};
