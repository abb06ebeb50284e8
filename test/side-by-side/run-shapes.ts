import { setTimeout as sleep } from 'node:timers/promises';
import { Meeting } from './meeting.ts';
import type { ShapeNode } from '../support/node/node-under-test.ts';
import { Recorder } from './recorder.ts';
import type { Recording } from './recording.ts';
import { type Disturbed, type Shape, ShapeRun } from './shape.ts';

export interface RunShapesOptions {
  /** How many shapes run at the same time. */
  readonly concurrency: number;
  /** How long a step of a shape is waited for. Default: that of `Recorder`. */
  readonly timeoutMs?: number | undefined;
  readonly onRecorded: (recording: Recording) => void;
}

/**
 * Runs shapes on one agent: those without a disturbance first, then each disturbance with all its shapes,
 * then those that need the node for themselves. A shape that fails leaves a recording with the error.
 */
export async function runShapes(
  node: ShapeNode,
  shapes: readonly Shape[],
  { concurrency, timeoutMs, onRecorded }: RunShapesOptions,
): Promise<void> {
  const recorder = new Recorder(node.cluster, timeoutMs);
  await recorder.start();
  const run = async (shape: Shape, disturbed: Disturbed): Promise<void> =>
    onRecorded(await recordShape(shape, node, recorder, disturbed));
  const none = (): Promise<void> => Promise.reject(new Error('The shape has no disturbance'));
  try {
    const queue = shapes.filter(({ disturbance, exclusive }) => disturbance === undefined && exclusive !== true);
    const work = async (): Promise<void> => {
      for (let shape = queue.shift(); shape !== undefined; shape = queue.shift()) await run(shape, none);
    };
    await Promise.all(Array.from({ length: concurrency }, work));
    const disturbances = new Set(shapes.flatMap(({ disturbance }) => (disturbance === undefined ? [] : [disturbance])));
    for (const disturbance of disturbances) {
      const group = shapes.filter((shape) => shape.disturbance === disturbance);
      const whileAway: (() => Promise<unknown>)[] = [];
      const meeting = new Meeting(group, () => node.disturb(disturbance, whileAway));
      const arrive =
        (shape: Shape): Disturbed =>
        (call) => {
          if (call !== undefined) whileAway.push(call);
          return meeting.arrive(shape);
        };
      await Promise.all(group.map((shape) => run(shape, arrive(shape)).finally(() => meeting.leave(shape))));
    }
    for (const shape of shapes.filter(({ exclusive }) => exclusive)) await run(shape, none);
  } finally {
    recorder.stop();
  }
}

async function recordShape(
  shape: Shape,
  node: ShapeNode,
  recorder: Recorder,
  disturbed: Disturbed,
): Promise<Recording> {
  const startedAtMs = Date.now();
  let error: string | undefined;
  const run = new ShapeRun(shape, node, recorder, disturbed);
  const pods = shape.pods ?? [shape.name];
  try {
    await shape.run(run);
  } catch (thrown) {
    error = (thrown as Error).message;
    run.removeStaticPod();
    for (const pod of pods) await run.api('DELETE', `pods/${pod}`, { gracePeriodSeconds: 0 });
  }
  // Events are written by requests of their own.
  await sleep(500);
  return {
    shape: shape.name,
    durationMs: Date.now() - startedAtMs,
    pods: Object.fromEntries(pods.map((pod) => [pod, recorder.podEventsOf(pod)])),
    events: Object.fromEntries(pods.map((pod) => [pod, recorder.eventsOf(pod)])),
    ...(error !== undefined && { error }),
  };
}
