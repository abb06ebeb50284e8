import { isDate } from 'node:util/types';
import { refuseArgument, requireObject } from '../../shared/errors.ts';
import { plainCopy } from '../../shared/plain-data.ts';
import { reasonOf } from '../../shared/logger.ts';
import { requireOneOf, requireString, requireText } from '../../shared/validate.ts';
import type { ProviderPod } from '../pod-provider.ts';

/** The API server refuses a status with a larger number. */
const maxInt32 = 2 ** 31 - 1;

const states: readonly ProviderPod['state'][] = ['creating', 'running', 'stopped'];

/** The maximum number of values in one pod; one with a thousand containers has fewer. */
const maxValues = 20_000;
/** The maximum number of pods in a list. */
const maxPods = 1_000_000;

/** A list of the provider. */
export interface ProviderPodList {
  /** The valid pods. Entries with the same UID are all invalid. */
  readonly pods: readonly ProviderPod[];
  /** Why each other entry is invalid: `pods[3].state must be …`. */
  readonly invalid: readonly string[];
  /** True if one of `pods` has this UID. */
  readonly includes: (podUID: string) => boolean;
  /** True if an invalid entry is, or could be, the pod with this UID. */
  readonly mayInclude: (podUID: string) => boolean;
}

/**
 * Separates the valid pods from the invalid ones.
 * @throws StatusManagerError INVALID_ARGUMENT if it is not a list
 */
export function readProviderPods(list: unknown): ProviderPodList {
  if (!Array.isArray(list)) refuseArgument('pods', 'a list', list);
  if (list.length > maxPods) refuseArgument('pods', `a list of at most ${maxPods}`, list);
  const byUID = new Map<string, ProviderPod>();
  const invalid: string[] = [];
  const invalidUIDs = new Set<unknown>();
  for (let i = 0; i < list.length; i += 1) {
    let uid: unknown;
    try {
      const entry: unknown = list[i];
      uid = uidOf(entry);
      const pod = readProviderPod(entry, `pods[${i}]`);
      if (byUID.has(pod.uid)) refuseArgument(`pods[${i}].uid`, 'that of no other pod in the list', pod.uid);
      byUID.set(pod.uid, pod);
    } catch (error) {
      invalid.push(reasonOf(error));
      invalidUIDs.add(typeof uid === 'string' && uid !== '' ? uid : undefined);
    }
  }
  const pods = [...byUID.values()].filter(({ uid }) => !invalidUIDs.has(uid));
  // The functions of the list must not keep the pods in memory.
  const uids = new Set(pods.map(({ uid }) => uid));
  return {
    ...{ pods, invalid },
    includes: (podUID) => uids.has(podUID),
    mayInclude: (podUID) => invalidUIDs.has(podUID) || invalidUIDs.has(undefined),
  };
}

/** Undefined if it cannot be read. */
function uidOf(pod: unknown): unknown {
  try {
    return Object(pod).uid;
  } catch {
    return undefined;
  }
}

/**
 * A copy of a pod of the provider, which may change it later.
 * @throws Error, or StatusManagerError INVALID_ARGUMENT; both name the field
 */
export function readProviderPod(value: unknown, path = 'pod'): ProviderPod {
  const pod = plainCopy(value, path, { maxValues });
  requireProviderPod(pod, path);
  return pod;
}

function requireProviderPod(pod: unknown, path: string): asserts pod is ProviderPod {
  requireObject(path, pod);
  const { uid, namespace, name, nodeName, state, ips, reason, message, podHash, restartCount, startedAt, containers } =
    pod as Partial<ProviderPod>;
  requireText(`${path}.uid`, uid);
  requireText(`${path}.namespace`, namespace);
  requireText(`${path}.name`, name);
  requireText(`${path}.nodeName`, nodeName);
  requireOneOf(`${path}.state`, state, states);
  requireTexts(`${path}.ips`, ips);
  requireOptionalStrings(path, { reason, message, podHash });
  if (restartCount !== undefined) requireCount(`${path}.restartCount`, restartCount);
  requireDate(`${path}.startedAt`, startedAt);
  if (containers === undefined) return;
  if (!Array.isArray(containers)) refuseArgument(`${path}.containers`, 'a list', containers);
  for (let i = 0; i < containers.length; i += 1) requireContainer(containers[i], `${path}.containers[${i}]`);
}

function requireContainer(container: unknown, path: string): void {
  requireObject(path, container);
  const { name, ready, started, restartCount, startedAt, exit, waiting, imageID } = container as Record<
    string,
    unknown
  >;
  requireText(`${path}.name`, name);
  requireOptionalBoolean(`${path}.ready`, ready);
  requireOptionalBoolean(`${path}.started`, started);
  if (restartCount !== undefined) requireCount(`${path}.restartCount`, restartCount);
  requireDate(`${path}.startedAt`, startedAt);
  requireOptionalStrings(path, { imageID });
  if (exit !== undefined) {
    requireObject(`${path}.exit`, exit);
    const { exitCode, reason, message, finishedAt } = exit as Record<string, unknown>;
    if (!Number.isInteger(exitCode) || (exitCode as number) < -maxInt32 - 1 || (exitCode as number) > 2 * maxInt32 + 1)
      refuseArgument(`${path}.exit.exitCode`, 'an integer of 32 bits', exitCode);
    requireOptionalStrings(`${path}.exit`, { reason, message });
    requireDate(`${path}.exit.finishedAt`, finishedAt);
  }
  if (waiting !== undefined) {
    requireObject(`${path}.waiting`, waiting);
    const { reason, message } = waiting as Record<string, unknown>;
    requireText(`${path}.waiting.reason`, reason);
    requireOptionalStrings(`${path}.waiting`, { message });
  }
}

function requireCount(path: string, value: unknown): void {
  if (!Number.isInteger(value) || (value as number) < 0 || (value as number) > maxInt32)
    refuseArgument(path, `an integer from 0 to ${maxInt32}`, value);
}

function requireTexts(path: string, value: unknown): void {
  if (value === undefined) return;
  if (!Array.isArray(value)) refuseArgument(path, 'a list', value);
  for (let i = 0; i < value.length; i += 1) requireText(`${path}[${i}]`, value[i]);
}

function requireOptionalStrings(path: string, strings: Readonly<Record<string, unknown>>): void {
  for (const field in strings) if (strings[field] !== undefined) requireString(`${path}.${field}`, strings[field]);
}

function requireOptionalBoolean(path: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'boolean') refuseArgument(path, 'a boolean', value);
}

function requireDate(path: string, value: unknown): void {
  // The API server refuses a status with another year.
  if (value !== undefined && !(isDate(value) && value.getUTCFullYear() >= 0 && value.getUTCFullYear() <= 9999))
    refuseArgument(path, 'a valid Date, of the year 9999 at the latest', value);
}
