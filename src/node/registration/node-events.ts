import { isPressureType, pressureTypes } from './node-conditions.ts';
import { nodeReference } from '../events/kube-event.ts';
import type { EventRecorder, EventType } from '../events/event-recorder.ts';
import type { Node, NodeStatus } from './node-types.ts';

/**
 * The events about the Node: start of the agent, reboot of the machine, cordon, changes of its conditions. A status change
 * is recorded as an event after it is written.
 *
 * Divergence: the kubelet records some events before it writes the status, and again at each retry; and it also has
 * SystemOOM, NodeAllocatableEnforced, CgroupV1 and CheckLimitsForResolvConf.
 */
export class NodeEvents {
  readonly #nodeName: string;
  readonly #recorder: EventRecorder | undefined;
  #isRebootRecorded = false;
  #wasUnschedulable = false;

  constructor(nodeName: string, recorder: EventRecorder | undefined) {
    this.#nodeName = nodeName;
    this.#recorder = recorder;
  }

  /** Source: kubelet `BirthCry`. */
  starting(): void {
    this.#record(undefined, 'Normal', 'Starting', 'Starting kubelet.');
  }

  /** Source: kubelet `recordNodeSchedulableEvent`. */
  schedulable({ metadata, spec }: Node): void {
    const isUnschedulable = spec?.unschedulable === true;
    if (isUnschedulable === this.#wasUnschedulable) return;
    this.#wasUnschedulable = isUnschedulable;
    this.#recordStatus(metadata.uid, isUnschedulable ? 'NodeNotSchedulable' : 'NodeSchedulable');
  }

  /** Source: kubelet `nodestatus.MachineInfo`, `ReadyCondition`, `MemoryPressureCondition` and others. */
  statusWritten(uid: string | undefined, before: NodeStatus, next: NodeStatus): void {
    const [oldID, bootID] = [before.nodeInfo?.bootID || undefined, next.nodeInfo?.bootID];
    if (oldID !== undefined && oldID !== bootID && !this.#isRebootRecorded) {
      this.#isRebootRecorded = true;
      const message = `Node ${this.#nodeName} has been rebooted, boot id: ${String(bootID)}`;
      this.#record(uid, 'Warning', 'Rebooted', message);
    }
    for (const { type, status } of next.conditions ?? []) {
      const old = before.conditions?.find((condition) => condition.type === type)?.status;
      if (old === status) continue;
      if (type === 'Ready' && old !== undefined) {
        this.#recordStatus(uid, status === 'True' ? 'NodeReady' : 'NodeNotReady');
      }
      if (isPressureType(type) && status !== 'Unknown') this.#recordStatus(uid, pressureTypes[type][status][2]);
    }
  }

  /** Source: kubelet `recordNodeStatusEvent`. */
  #recordStatus(uid: string | undefined, reason: string): void {
    this.#record(uid, 'Normal', reason, `Node ${this.#nodeName} status is now: ${reason}`);
  }

  #record(uid: string | undefined, type: EventType, reason: string, message: string): void {
    this.#recorder?.event({ object: nodeReference(this.#nodeName, uid), type, reason, message });
  }
}
