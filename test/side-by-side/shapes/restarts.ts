import { app, containerOf, forever, hasRestarted, isReady, isWaiting, type Shape, type ShapeRun } from '../shape.ts';

const runAfter =
  (
    spec: object,
    disturbedAfter: (run: ShapeRun) => Promise<unknown>,
    afterwards?: (run: ShapeRun) => Promise<unknown>,
  ) =>
  async (run: ShapeRun) => {
    await run.create(spec);
    await disturbedAfter(run);
    await run.sleep(1_000);
    await run.disturbed();
    await (afterwards ?? (() => run.sleep(3_000)))(run);
    await run.end();
  };
const untilReady = (run: ShapeRun) => run.untilReady();
const untilRestarted = (run: ShapeRun) =>
  run.until('restarted', (pod, type) => hasRestarted()(pod, type) && isReady(pod, type));
const running = { containers: [app(forever)] };
const crashing = { containers: [app('sleep 1; exit 3')] };
const inBackOff = (run: ShapeRun) => run.until('in back-off', isWaiting('CrashLoopBackOff'));
const initialising = { initContainers: [app('sleep 7', { name: 'first' })], containers: [app(forever)] };
const untilInitialising = (run: ShapeRun) =>
  run.until('initialising', (pod) => containerOf(pod, 'first')?.state?.running);
const withSidecar = {
  initContainers: [app(forever, { name: 'side', restartPolicy: 'Always' })],
  containers: [app(forever)],
};
const job = (seconds: number) => ({ restartPolicy: 'Never', containers: [app(`sleep ${seconds}; exit 3`)] });
const untilRunning = (run: ShapeRun) => run.until('running', (pod) => containerOf(pod)?.state?.running);
const untilEnded = (run: ShapeRun) => run.untilEnded();

/** The agent, the runtime or the machine goes away while pods run. */
export const restarts: readonly Shape[] = [
  { name: 'restart-running', disturbance: 'agent-restart', run: runAfter(running, untilReady) },
  { name: 'restart-crash-loop', disturbance: 'agent-restart', run: runAfter(crashing, inBackOff) },
  {
    name: 'restart-initialising',
    disturbance: 'agent-restart',
    run: runAfter(initialising, untilInitialising, untilReady),
  },
  { name: 'restart-sidecar', disturbance: 'agent-restart', run: runAfter(withSidecar, untilReady) },
  { name: 'restart-ended', disturbance: 'agent-restart', run: runAfter(job(1), untilEnded) },
  { name: 'restart-job-ends', disturbance: 'agent-restart', run: runAfter(job(3), untilRunning, untilEnded) },
  {
    name: 'restart-terminating',
    disturbance: 'agent-restart',
    run: async (run) => {
      const script = 'trap "sleep 7; exit 5" TERM; while :; do sleep 1 & wait $!; done';
      await run.create({ terminationGracePeriodSeconds: 20, containers: [app(script)] });
      await run.untilReady();
      await run.sleep(500);
      await run.api('DELETE', `pods/${run.name}`);
      await run.sleep(500);
      await run.disturbed();
      await run.untilGone();
    },
  },
  {
    name: 'restart-deleted-meanwhile',
    disturbance: 'agent-restart',
    run: async (run) => {
      await run.create(running);
      await run.untilReady();
      await run.sleep(1_000);
      await run.disturbed(() => run.api('DELETE', `pods/${run.name}`));
      await run.untilGone();
    },
  },
  {
    name: 'deleted-before-seen',
    disturbance: 'agent-restart',
    run: async (run) => {
      await run.disturbed(async () => {
        await run.create(running);
        await run.api('DELETE', `pods/${run.name}`);
      });
      await run.untilGone();
    },
  },
  { name: 'agent-killed-running', disturbance: 'agent-crash', run: runAfter(running, untilReady) },
  { name: 'agent-killed-job-ends', disturbance: 'agent-crash', run: runAfter(job(3), untilRunning, untilEnded) },
  { name: 'runtime-restart-running', disturbance: 'runtime-restart', run: runAfter(running, untilReady) },
  { name: 'runtime-restart-crash-loop', disturbance: 'runtime-restart', run: runAfter(crashing, inBackOff) },
  { name: 'runtime-restart-ended', disturbance: 'runtime-restart', run: runAfter(job(1), untilEnded) },
  { name: 'reboot-running', disturbance: 'reboot', run: runAfter(running, untilReady, untilRestarted) },
  { name: 'reboot-job', disturbance: 'reboot', run: runAfter(job(60), untilRunning, untilEnded) },
  { name: 'reboot-ended', disturbance: 'reboot', run: runAfter(job(1), untilEnded) },
  { name: 'reboot-sidecar', disturbance: 'reboot', run: runAfter(withSidecar, untilReady, untilRestarted) },
  { name: 'wipe-running', disturbance: 'wipe', run: runAfter(running, untilReady, untilRestarted) },
  { name: 'wipe-ended', disturbance: 'wipe', run: runAfter(job(1), untilEnded) },
];
