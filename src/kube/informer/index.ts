export type { InformerLike } from './informer-source.ts';
export type { PodListener, PodSubscribeOptions } from './known-pods.ts';
export type { InformerPodManager, InformerPodManagerOptions } from './informer-pod-manager.ts';
export { createInformerPodManager, informerPodManagerFrom } from './informer-pod-manager.ts';
