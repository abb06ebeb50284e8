import { refuseArgument } from '../../shared/errors.ts';
import { isObject, type Raw } from '../../shared/json.ts';
import { requireIterable, requireText } from '../../shared/validate.ts';
import type { ValidPod } from '../objects/types.ts';

/**
 * Checks the fields that a pod needs for its status to be cached and sent. Does not check the pod's
 * own status, which is read leniently. @throws StatusManagerError INVALID_ARGUMENT
 */
export function requirePod(pod: unknown, path = 'pod'): asserts pod is ValidPod {
  if (!isObject(pod)) refuseArgument(path, 'an object', pod);
  const { metadata, spec } = pod;
  if (!isObject(metadata)) refuseArgument(`${path}.metadata`, 'an object', metadata);
  requireText(`${path}.metadata.uid`, metadata.uid);
  requireText(`${path}.metadata.name`, metadata.name);
  requireText(`${path}.metadata.namespace`, metadata.namespace);
  const { generation, annotations } = metadata;
  if (isSet(generation) && !Number.isSafeInteger(generation))
    refuseArgument(`${path}.metadata.generation`, 'an integer', generation);
  if (isSet(annotations) && !isObject(annotations))
    refuseArgument(`${path}.metadata.annotations`, 'an object', annotations);
  if (!isSet(spec)) return;
  if (!isObject(spec)) refuseArgument(`${path}.spec`, 'an object', spec);
  for (const field of ['containers', 'initContainers', 'ephemeralContainers'] as const)
    requireContainers(`${path}.spec.${field}`, spec[field]);
  requireObjects(`${path}.spec.readinessGates`, spec.readinessGates);
}

/** The pods of an iterable, `pods` in an error, each checked. */
export function requirePods(pods: unknown): readonly ValidPod[] {
  requireIterable('pods', pods);
  return Array.from(pods, (pod, i) => {
    requirePod(pod, `pods[${i}]`);
    return pod;
  });
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function requireContainers(path: string, containers: unknown): void {
  for (const [i, { name, restartPolicyRules }] of requireObjects(path, containers).entries()) {
    if (typeof name !== 'string') refuseArgument(`${path}[${i}].name`, 'a string', name);
    if (isSet(restartPolicyRules)) requireRestartPolicyRules(`${path}[${i}].restartPolicyRules`, restartPolicyRules);
  }
}

function requireRestartPolicyRules(path: string, rules: unknown): void {
  for (const [i, { exitCodes }] of requireObjects(path, rules).entries()) {
    if (!isSet(exitCodes)) continue;
    if (!isObject(exitCodes)) refuseArgument(`${path}[${i}].exitCodes`, 'an object', exitCodes);
    const { values } = exitCodes;
    if (isSet(values) && !Array.isArray(values)) refuseArgument(`${path}[${i}].exitCodes.values`, 'a list', values);
  }
}

/** A list of objects; empty when absent. */
function requireObjects(path: string, list: unknown): readonly Raw[] {
  if (!isSet(list)) return [];
  if (!Array.isArray(list)) refuseArgument(path, 'a list', list);
  for (let i = 0; i < list.length; i++) if (!isObject(list[i])) refuseArgument(`${path}[${i}]`, 'an object', list[i]);
  return list as readonly Raw[];
}
