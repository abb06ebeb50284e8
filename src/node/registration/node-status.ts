import { isObject } from '../../shared/json.ts';
import isEqual from 'lodash/isEqual.js';
import { quantitiesEqual } from '../../kube/objects/quantity.ts';
import { mergeNodeConditions, pressureConditions, readyCondition } from './node-conditions.ts';
import type { NodeCondition, NodeStatus } from './node-types.ts';

type Resources = Readonly<Record<string, string>> | undefined;

/** What makes a condition another one: all but its heartbeat time. */
const comparedFields = [
  ...['type', 'status', 'reason', 'message', 'lastTransitionTime'],
] as const satisfies (keyof NodeCondition)[];

/** The Node status that the agent reports. */
export interface ObservedNode {
  /** Its fields replace the previous ones; its conditions replace those of the same type. */
  readonly status: NodeStatus;
  /** Why the node is not ready; empty if it is ready. */
  readonly readyErrors: readonly string[];
}

/** Source: kubelet `setNodeStatus`. */
export function updatedNodeStatus(before: NodeStatus, { status, readyErrors }: ObservedNode, now: string): NodeStatus {
  const { conditions = [], ...fields } = status;
  const next: NodeStatus = { ...before, ...fields };
  const allocatable = status.allocatable ?? next.capacity;
  const ours = new Map<string, NodeCondition>();
  for (const condition of [...pressureConditions('False'), ...conditions]) ours.set(condition.type, condition);
  // Ready is the last one.
  const ready = ours.get('Ready') ?? readyCondition(next.capacity, readyErrors);
  ours.delete('Ready');
  const merged = mergeNodeConditions(before.conditions ?? [], [...ours.values(), ready], now);
  return { ...next, allocatable, conditions: merged };
}

/** Ignores heartbeat times. Source: kubelet `nodeStatusHasChanged`. */
export function nodeStatusHasChanged(before: NodeStatus, next: NodeStatus): boolean {
  return changedFields(before, next).length > 0;
}

/**
 * The strategic merge patch from one status to the next. It includes all of our conditions, so that their
 * heartbeat times are written. Source: component-helpers `PatchNodeStatus`.
 */
export function nodeStatusPatch(before: NodeStatus, next: NodeStatus): Record<string, unknown> {
  const patch: Record<string, unknown> = {};
  for (const field of changedFields(before, next)) {
    patch[field] = isObject(next[field]) ? mergePatch(before[field], next[field]) : next[field];
  }
  // The merge key of addresses is `type`, so two addresses of one type would become one.
  if (patch['addresses'] !== undefined) {
    patch['addresses'] = [...(next.addresses ?? []), { $patch: 'replace' }];
  }
  const unchanged = new Set(before.conditions);
  patch['conditions'] = next.conditions?.filter((condition) => !unchanged.has(condition));
  return patch;
}

function changedFields(before: NodeStatus, next: NodeStatus): string[] {
  return Object.keys(next).filter((field) => !fieldEqual(field, before[field], next[field]));
}

function fieldEqual(field: string, before: unknown, next: unknown): boolean {
  if (before === next) return true;
  if (field === 'conditions') return conditionsEqual(before as NodeStatus['conditions'], next as NodeCondition[]);
  if (field === 'capacity' || field === 'allocatable') return resourcesEqual(before as Resources, next as Resources);
  const isEmpty = (value: unknown): boolean => value == null || (Array.isArray(value) && value.length === 0);
  return (isEmpty(before) && isEmpty(next)) || isEqual(before, next);
}

/** Ignores heartbeat times. The next conditions are in the order of those before: see `mergeNodeConditions`. */
function conditionsEqual(before: NodeStatus['conditions'], next: readonly NodeCondition[]): boolean {
  const old = before ?? [];
  return old.length === next.length && next.every((condition, i) => conditionEqual(old[i]!, condition));
}

function conditionEqual(before: NodeCondition, next: NodeCondition): boolean {
  return before === next || comparedFields.every((field) => (before[field] ?? '') === (next[field] ?? ''));
}

/** The keys of two lists of resources are the same, and the quantities equal. */
function resourcesEqual(before: Resources = {}, next: Resources = {}): boolean {
  const names = Object.keys(next);
  if (names.length !== Object.keys(before).length) return false;
  return names.every((name) => {
    const [a, b] = [before[name], next[name]];
    return a !== undefined && b !== undefined && quantitiesEqual(a, b);
  });
}

function mergePatch(before: unknown, next: Record<string, unknown>): Record<string, unknown> {
  const gone = isObject(before) ? Object.keys(before).filter((name) => next[name] === undefined) : [];
  return { ...next, ...Object.fromEntries(gone.map((name) => [name, null])) };
}
