import { refuseOption } from '../../shared/errors.ts';
import { quantityValue } from '../../kube/objects/quantity.ts';
import type { PressureType } from '../../node/index.ts';

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

type BySignal<Value> = Readonly<Partial<Record<EvictionSignal, Value>>>;

/** The thresholds of a node, by signal. */
export interface ThresholdOptions {
  /**
   * Thresholds, as a quantity or a percentage of the capacity: `{ 'memory.available': '100Mi', 'nodefs.available': '10%' }`.
   * Pods get 1 s to end. Default: none. kubelet: `--eviction-hard`.
   */
  readonly hard?: BySignal<string> | undefined;
  /**
   * Like `hard`, but a threshold must be met for its grace period, and pods get up to `maxPodGracePeriodSeconds` to end.
   * Default: none. kubelet: `--eviction-soft`.
   */
  readonly soft?: BySignal<string> | undefined;
  /**
   * How long each soft threshold must be met before pods are evicted, in milliseconds. kubelet:
   * `--eviction-soft-grace-period`.
   */
  readonly softGracePeriodMs?: BySignal<number> | undefined;
  /**
   * How much more than a threshold must be available before it is no longer met, as a quantity or a percentage of the
   * capacity. Default: nothing. kubelet: `--eviction-minimum-reclaim`.
   */
  readonly minimumReclaim?: BySignal<string> | undefined;
}

export interface Threshold {
  readonly signal: EvictionSignal;
  /** `100Mi` or `10%`. */
  readonly value: string;
  /** How long it must be met before pods are evicted; 0: a hard threshold. */
  readonly gracePeriodMs: number;
  /** `0` if none. */
  readonly minimumReclaim: string;
}

/** The observed amounts of a signal, in bytes or numbers. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
}

export type Observations = ReadonlyMap<EvictionSignal, Observation>;

/**
 * Hard thresholds first, and of both kinds memory. Source: kubelet `ParseThresholdConfig`.
 * @throws StatusManagerError INVALID_OPTION; `path` is a field of `eviction`
 */
export function parseThresholds(options: ThresholdOptions): readonly Threshold[] {
  const { hard = {}, soft = {}, softGracePeriodMs = {}, minimumReclaim = {} } = options;
  requireAmounts('hard', hard);
  requireAmounts('soft', soft);
  requireAmounts('minimumReclaim', minimumReclaim);
  for (const [path, signal, ms] of entriesOf('softGracePeriodMs', softGracePeriodMs))
    if (!(Number.isFinite(ms) && ms >= 0)) refuseOption(path, 'a number ≥ 0', softGracePeriodMs[signal]);
  for (const [, signal] of entriesOf('soft', soft))
    if (softGracePeriodMs[signal] === undefined)
      refuseOption(`eviction.softGracePeriodMs.${signal}`, 'given, as there is a soft threshold');
  const parse = (values: BySignal<string>, gracePeriodOf: (signal: EvictionSignal) => number): Threshold[] =>
    (Object.keys(signals) as EvictionSignal[]).flatMap((signal) => {
      const value = values[signal];
      // Source: kubelet `parseThresholdStatement`, which ignores 0% and 100%.
      if (value === undefined || value === '0%' || value === '100%') return [];
      return [{ signal, value, gracePeriodMs: gracePeriodOf(signal), minimumReclaim: minimumReclaim[signal] ?? '0' }];
    });
  return [...parse(hard, () => 0), ...parse(soft, (signal) => softGracePeriodMs[signal]!)];
}

function requireAmounts(name: keyof ThresholdOptions, values: BySignal<string>): void {
  for (const [path, , value] of entriesOf(name, values))
    if (typeof value !== 'string' || !((percentOf(value) ?? quantityValue(value) ?? -1) >= 0))
      refuseOption(path, 'a quantity or a percentage: 100Mi, 10%', value);
}

function entriesOf<Value>(name: keyof ThresholdOptions, values: BySignal<Value>): [string, EvictionSignal, Value][] {
  return Object.entries(values).map(([signal, value]) => {
    const path = `eviction.${name}.${signal}`;
    if (!Object.hasOwn(signals, signal)) refuseOption(path, `one of ${Object.keys(signals).join(', ')}`);
    return [path, signal as EvictionSignal, value];
  });
}

/**
 * The thresholds that are met; a signal without an observation is not. With `enforceMinimumReclaim`, also those whose
 * minimum reclaim is not yet available. Source: kubelet `thresholdsMet`.
 */
export function thresholdsMet(
  thresholds: readonly Threshold[],
  observations: Observations,
  { enforceMinimumReclaim = false } = {},
): Threshold[] {
  return thresholds.filter(({ signal, value, minimumReclaim }) => {
    const observed = observations.get(signal);
    if (observed === undefined) return false;
    const { available, capacity } = observed;
    const reserve = enforceMinimumReclaim ? thresholdAmount(minimumReclaim, capacity) : 0;
    return thresholdAmount(value, capacity) + reserve > available;
  });
}

/** Source: kubelet `GetThresholdQuantity`. */
export function thresholdAmount(value: string, capacity: number): number {
  const percent = percentOf(value);
  return percent === undefined ? (quantityValue(value) ?? 0) : Math.trunc((capacity * percent) / 100);
}

function percentOf(value: string): number | undefined {
  const percent = /^(\d+(?:\.\d+)?)%$/.exec(value)?.[1];
  return percent === undefined || Number(percent) > 100 ? undefined : Number(percent);
}
