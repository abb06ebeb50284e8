/** Compiles, or a manager no longer knows the type of its pod manager. Nothing here runs. */
import type { InformerPodManager } from '../../src/kube/informer/index.ts';
import { BasicPodManager, type PodManager, StatusManager } from '../../src/status-manager/index.ts';

declare const informer: InformerPodManager;
const podCouldHaveRunningContainers = (): boolean => false;

const basic = new StatusManager({ podCouldHaveRunningContainers, podManager: new BasicPodManager() });
const informed = new StatusManager({ podCouldHaveRunningContainers, podManager: informer });
const without = new StatusManager({ podCouldHaveRunningContainers });

export const podManagers: [BasicPodManager, InformerPodManager, PodManager] = [
  basic.podManager,
  informed.podManager,
  without.podManager,
];
// Without a type argument it was one with a BasicPodManager, and refused a manager on an informer.
export const managers: StatusManager[] = [basic, informed, without];

// @ts-expect-error -- an informer is not filled by hand
informed.podManager.setPods([]);
