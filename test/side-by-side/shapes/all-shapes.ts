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
