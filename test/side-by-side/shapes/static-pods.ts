import { nodeName } from '../../support/node/machine.ts';
import { app, forever, isReady, type Shape, type ShapeRun } from '../shape.ts';

const mirror = (name: string) => `${name}-${nodeName}`;
const manifest = (run: ShapeRun, spec: object) => ({
  metadata: { name: run.name },
  spec: { terminationGracePeriodSeconds: 3, ...spec },
});
const remove = async (run: ShapeRun) => {
  await run.sleep(700);
  run.removeStaticPod();
  await run.untilGone(mirror(run.name));
};

export const staticPods: readonly Shape[] = [
  {
    name: 'static-pod',
    pods: [mirror('static-pod')],
    run: async (run) => {
      run.writeStaticPod(manifest(run, { containers: [app(forever)] }));
      await run.untilReady(mirror(run.name));
      await remove(run);
    },
  },
  {
    name: 'static-pod-succeeds',
    pods: [mirror('static-pod-succeeds')],
    run: async (run) => {
      run.writeStaticPod(manifest(run, { restartPolicy: 'Never', containers: [app('sleep 2')] }));
      await run.until('Succeeded', ({ status }) => status?.phase === 'Succeeded', { pod: mirror(run.name) });
      await run.sleep(1_000);
      await remove(run);
    },
  },
  {
    name: 'static-pod-changed',
    pods: [mirror('static-pod-changed')],
    run: async (run) => {
      run.writeStaticPod(manifest(run, { containers: [app(forever)] }));
      const { object } = await run.untilReady(mirror(run.name));
      await run.sleep(700);
      run.writeStaticPod(manifest(run, { containers: [app(`true; ${forever}`)] }));
      const isNew = (pod: { metadata: { uid: string } }) => pod.metadata.uid !== object.metadata.uid;
      await run.until('ready again', (pod, type) => isNew(pod) && isReady(pod, type), { pod: mirror(run.name) });
      await run.sleep(700);
      run.removeStaticPod();
      await run.until('gone', (pod, type) => isNew(pod) && type === 'DELETED', { pod: mirror(run.name) });
    },
  },
];
