import { refuseOption } from '../../shared/errors.ts';
import { quantityValue } from '../../kube/quantity.ts';
import type { NodeCondition } from '../node/node-types.ts';

/** What a threshold is about. Source: kubelet `evictionapi.Signal`. */
export type EvictionSignal =
  | 'memory.available'
  | 'nodefs.available'
  | 'nodefs.inodesFree'
  | 'imagefs.available'
  | 'imagefs.inodesFree'
  | 'pid.available';

/** The resource that an eviction frees; its name is in messages. */
export type StarvedResource = 'memory' | 'ephemeral-storage' | 'inodes' | 'pids';

type PressureType = 'MemoryPressure' | 'DiskPressure' | 'PIDPressure';

interface SignalRow {
  readonly resource: StarvedResource;
  readonly condition: PressureType;
}

/** Memory comes first: an eviction for it is the most urgent. Source: kubelet `byEvictionPriority`. */
export const signals: Readonly<Record<EvictionSignal, SignalRow>> = {
  'memory.available': { resource: 'memory', condition: 'MemoryPressure' },
  'nodefs.available': { resource: 'ephemeral-storage', condition: 'DiskPressure' },
  'nodefs.inodesFree': { resource: 'inodes', condition: 'DiskPressure' },
  'imagefs.available': { resource: 'ephemeral-storage', condition: 'DiskPressure' },
  'imagefs.inodesFree': { resource: 'inodes', condition: 'DiskPressure' },
  'pid.available': { resource: 'pids', condition: 'PIDPressure' },
};

export interface Threshold {
  readonly signal: EvictionSignal;
  /** `100Mi` or `10%`. */
  readonly value: string;
}

/** The observed amounts of a signal, in bytes or numbers. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = ReadonlyMap<EvictionSignal, Observation>;

/** @throws StatusManagerError INVALID_OPTION; `path` is a member of `eviction.hard` */
export function parseThresholds(hard: Readonly<Partial<Record<EvictionSignal, string>>>): readonly Threshold[] {
  for (const [signal, value] of Object.entries(hard)) {
    const path = `eviction.hard.${signal}`;
    if (!Object.hasOwn(signals, signal)) refuseOption(path, `one of ${Object.keys(signals).join(', ')}`);
    if (typeof value !== 'string' || !((percentOf(value) ?? quantityValue(value) ?? -1) >= 0))
      refuseOption(path, 'a quantity or a percentage: 100Mi, 10%', value);
  }
  const inOrder = Object.keys(signals) as EvictionSignal[];
  return inOrder.flatMap((signal) => {
    const value = hard[signal];
    // Source: kubelet `parseThresholdStatement`, which ignores 0% and 100%.
    return value === undefined || value === '0%' || value === '100%' ? [] : [{ signal, value }];
  });
}

/** The thresholds that are met; a signal without an observation is not. Source: kubelet `thresholdsMet`. */
export function thresholdsMet(thresholds: readonly Threshold[], observations: Observations): Threshold[] {
  return thresholds.filter((threshold) => {
    const observed = observations.get(threshold.signal);
    return observed !== undefined && thresholdAmount(threshold, observed.capacity) > observed.available;
  });
}

/** Source: kubelet `GetThresholdQuantity`. */
export function thresholdAmount({ value }: Threshold, capacity: number): number {
  const percent = percentOf(value);
  return percent === undefined ? (quantityValue(value) ?? 0) : Math.trunc((capacity * percent) / 100);
}

function percentOf(value: string): number | undefined {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(value)?.[1];
  return percent === undefined || Number(percent) > 100 ? undefined : Number(percent);
}

/** The conditions of a node under these kinds of pressure. Source: kubelet `nodestatus.MemoryPressureCondition` and others. */
export function pressureConditions(pressure: ReadonlySet<string>): NodeCondition[] {
  const rows: readonly (readonly [PressureType, string, string])[] = [
    ['MemoryPressure', 'KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
    ['DiskPressure', 'KubeletHasDiskPressure', 'kubelet has disk pressure'],
    ['PIDPressure', 'KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
  ];
  return rows
    .filter(([type]) => pressure.has(type))
    .map(([type, reason, message]) => ({ type, status: 'True', reason, message }));
}
