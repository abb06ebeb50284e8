/** Compiles, or a manager no longer knows the type of its pod manager. Nothing here runs. */
import type { InformerPodManager } from '../../src/informer.ts';
import type { BasicPodManager, PodManager } from '../../src/index.ts';
import { StatusManager } from '../../src/index.ts';

declare const informer: InformerPodManager;
const podDeletionSafety = (): boolean => false;

const basic = new StatusManager({ podDeletionSafety });
const informed = new StatusManager({ podDeletionSafety, podManager: informer });

export const podManagers: [BasicPodManager, InformerPodManager] = [basic.podManager, informed.podManager];
export const managers: StatusManager<PodManager>[] = [basic, informed];

// @ts-expect-error -- an informer is not filled by hand
informed.podManager.setPods([]);
