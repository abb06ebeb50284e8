export type { InformerLike } from './pods/informer/informer-source.ts';
export type { PodListener, PodSubscribeOptions } from './pods/informer/known-pods.ts';
export type { InformerPodManager, InformerPodManagerOptions } from './pods/informer-pod-manager.ts';
export { createInformerPodManager, informerPodManagerFrom } from './pods/informer-pod-manager.ts';
