import type { NodeCondition, NodeStatus } from './node-types.ts';
import { reasonOf } from '../../shared/logger.ts';
import type { NodeReporterOptions } from './node-reporter-options.ts';

/**
 * Divergence: the kubelet also requires ephemeral-storage if it isolates local storage. An agent does
 * not measure its disks, and `nodeStatus` may omit it.
 */
const requiredCapacities = ['cpu', 'memory', 'pods'];

interface PressureRow {
  /** Reason and message of the condition, and the reason of the event, with pressure and without. */
  readonly True: readonly [reason: string, message: string, event: string];
  readonly False: readonly [reason: string, message: string, event: string];
}

/** Source: kubelet `nodestatus.MemoryPressureCondition` and others. */
export const pressureTypes = {
  MemoryPressure: {
    True: ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available', 'NodeHasInsufficientMemory'],
    False: ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available', 'NodeHasSufficientMemory'],
  },
  DiskPressure: {
    True: ['KubeletHasDiskPressure', 'kubelet has disk pressure', 'NodeHasDiskPressure'],
    False: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure', 'NodeHasNoDiskPressure'],
  },
  PIDPressure: {
    True: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available', 'NodeHasInsufficientPID'],
    False: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available', 'NodeHasSufficientPID'],
  },
} as const satisfies Readonly<Record<string, PressureRow>>;

export type PressureType = keyof typeof pressureTypes;

export function isPressureType(type: string): type is PressureType {
  return Object.hasOwn(pressureTypes, type);
}

/** The pressure conditions of these types, with this status. */
export function pressureConditions(
  status: 'True' | 'False',
  types: { has(type: PressureType): boolean } = { has: () => true },
): NodeCondition[] {
  const all = Object.keys(pressureTypes) as PressureType[];
  return all
    .filter((type) => types.has(type))
    .map((type) => {
      const [reason, message] = pressureTypes[type][status];
      return { type, status, reason, message };
    });
}

/** Source: kubelet `nodestatus.ReadyCondition`. */
export function readyCondition(capacity: NodeStatus['capacity'], errors: readonly string[]): NodeCondition {
  const missing = requiredCapacities.filter((resource) => capacity?.[resource] === undefined);
  const all = missing.length === 0 ? errors : [...errors, `missing node capacity for resources: ${missing.join(', ')}`];
  if (all.length === 0) {
    return { type: 'Ready', status: 'True', reason: 'KubeletReady', message: 'kubelet is posting ready status' };
  }
  const message = all.length === 1 ? all[0] : `[${all.join(', ')}]`;
  return { type: 'Ready', status: 'False', reason: 'KubeletNotReady', message };
}

/**
 * The previous conditions, updated with ours in place; new ones are appended. A condition whose status
 * has not changed keeps its transition time. Conditions of other writers stay unchanged.
 */
export function mergeNodeConditions(
  before: readonly NodeCondition[],
  ours: readonly NodeCondition[],
  now: string,
): NodeCondition[] {
  const timed = new Map<string, NodeCondition>();
  for (const condition of ours) {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? (old.lastTransitionTime ?? now) : now;
    timed.set(condition.type, { ...condition, lastHeartbeatTime: now, lastTransitionTime });
  }
  const merged = before.map((condition) => timed.get(condition.type) ?? condition);
  const isNew = ({ type }: NodeCondition): boolean => !before.some((condition) => condition.type === type);
  return [...merged, ...[...timed.values()].filter(isNew)];
}

/**
 * Returns the reasons from the hook. A hook that throws, or returns anything but a list, also makes the node not ready;
 * otherwise the Node would keep its previous Ready condition.
 */
export function readyErrorsOf(readyErrors: NodeReporterOptions['readyErrors']): readonly string[] {
  try {
    const errors: unknown = readyErrors?.() ?? [];
    if (Array.isArray(errors)) return errors.map(String);
    throw new TypeError('it did not return a list');
  } catch (thrown) {
    return [`readyErrors failed: ${reasonOf(thrown)}`];
  }
}
