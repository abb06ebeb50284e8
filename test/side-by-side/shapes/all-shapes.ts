import type { Shape } from '../shape.ts';
import { deletion } from './deletion.ts';
import { images, volumes } from './images-and-volumes.ts';
import { initContainers } from './init-containers.ts';
import { podLife } from './pod-life.ts';
import { hooks, probes } from './probes-and-hooks.ts';
import { admission, resizes } from './resources-and-admission.ts';
import { restarts } from './restarts.ts';
import { staticPods } from './static-pods.ts';

export const allShapes: readonly Shape[] = [
  ...podLife,
  ...initContainers,
  ...probes,
  ...hooks,
  ...images,
  ...volumes,
  ...deletion,
  ...resizes,
  ...admission,
  ...staticPods,
  ...restarts,
];

/** Of every kind one or two, without those that take long: for `.ci/run`. */
const quick = [
  ...['runs', 'three-containers', 'succeeds', 'fails', 'active-deadline', 'image-changed', 'host-network'],
  ...['init-fails', 'sidecar-of-job', 'sidecars-terminate-in-order', 'ready-by-exec', 'liveness-by-exec'],
  ...['hooks', 'image-never-pulled', 'environment', 'config-map-volume-missing', 'grace-period-ends'],
  ...['resize-cpu', 'out-of-cpu', 'static-pod'],
];
export const quickShapes: readonly Shape[] = allShapes.filter(({ name }) => quick.includes(name));
