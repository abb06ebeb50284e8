/* The pods of one node by list and watch, as a `PodManager`. */

export type { InformerLike } from './informer-source.ts';
export type { PodListener } from './known-pods.ts';
export {
  createInformerPodManager,
  type InformerPodManager,
  type InformerPodManagerOptions,
  informerPodManagerFrom,
} from './informer-pod-manager.ts';
