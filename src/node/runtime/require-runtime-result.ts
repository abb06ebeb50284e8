import { isObject, type Raw } from '../../shared/json.ts';
import { parseQuantity } from '../../kube/objects/quantity.ts';
import type { ResourceRequirementsInput } from '../../kube/objects/types.ts';
import type { ExecResult, ImagePullSecret, PulledImage, RuntimePod } from './container-runtime.ts';
import type { PodStats } from './pod-stats.ts';
import type { RuntimeImage } from './runtime-storage.ts';

/**
 * Validate the result of a `ContainerRuntime` method right after the call, so that the error can name
 * the method.
 */

/** If a pod were listed twice, the containers of one entry would be lost and started again. */
export function requireRuntimePods(value: unknown): readonly RuntimePod[] {
  if (!Array.isArray(value)) refuse('listPods()', 'a list', value);
  const uids = new Set<string>();
  for (const [index, item] of (value as unknown[]).entries()) {
    const { uid } = requirePod(item, `listPods()[${index}]`);
    if (uids.has(uid)) throw new Error(`The runtime listed pod UID ${uid} twice`);
    uids.add(uid);
  }
  return value as RuntimePod[];
}

export function requirePodOrNothing(value: unknown): RuntimePod | undefined {
  return value == null ? undefined : requirePod(value, 'getPod()');
}

export function requireID(method: string): (value: unknown) => string {
  return (value) => (typeof value === 'string' ? value : refuse(`${method}()`, 'a string', value));
}

export function requireImageRef(value: unknown): string | undefined {
  return value == null ? undefined : requireID('imageRef')(value);
}

export function requirePulledImage(value: unknown): PulledImage | string {
  if (typeof value === 'string') return value;
  const { imageRef, sizeBytes, pullSecret } = fieldsOf(value);
  if (typeof imageRef !== 'string' || (sizeBytes !== undefined && typeof sizeBytes !== 'number'))
    refuse('pullImage()', 'a string or { imageRef, sizeBytes }', value);
  // Ignoring an invalid secret would open the image to all pods.
  if (pullSecret != null && !isImagePullSecret(pullSecret)) refuse('pullImage().pullSecret', secretFields, pullSecret);
  return value as PulledImage;
}

const secretFields = '{ uid, namespace, name, credentialHash }';
export const requireImagePullSecrets = listOf('imagePullSecrets()', secretFields, isImagePullSecret);

/** Also used for records of pulls. */
export function isImagePullSecret(value: unknown): value is ImagePullSecret {
  const { uid, namespace, name, credentialHash } = fieldsOf(value);
  return [uid, namespace, name, credentialHash].every((field) => typeof field === 'string');
}

export function requireResources(value: unknown): ResourceRequirementsInput | undefined {
  if (value == null) return undefined;
  if (typeof value !== 'object') refuse('podResources()', '{ requests, limits }', value);
  const isQuantity = (each: unknown): boolean =>
    each === undefined || (typeof each === 'string' && parseQuantity(each) !== undefined);
  for (const list of ['requests', 'limits'] as const)
    for (const name of ['cpu', 'memory']) {
      const quantity = fieldsOf(fieldsOf(value)[list])[name];
      if (!isQuantity(quantity)) refuse(`podResources().${list}.${name}`, 'a quantity', quantity);
    }
  return value;
}

export function requireSandboxStatus<T>(value: T): T {
  const { id, ready } = fieldsOf(value);
  if (typeof id !== 'string' || typeof ready !== 'boolean') refuse('podSandboxStatus()', '{ id, ready }', value);
  return value;
}

export const requireImages = listOf('listImages()', '{ id, sizeBytes }', (each): each is RuntimeImage => {
  const { id, sizeBytes, names } = fieldsOf(each);
  return typeof id === 'string' && typeof sizeBytes === 'number' && (names === undefined || Array.isArray(names));
});

export function requirePodStats(value: unknown, method = 'listPodStats()'): readonly PodStats[] {
  return listOf(method, '{ podRef, containers }', (each): each is PodStats => {
    const { podRef, containers } = fieldsOf(each);
    return typeof fieldsOf(podRef)['uid'] === 'string' && Array.isArray(containers);
  })(value);
}

export function requireStatus<T>(value: T): T {
  const { conditions } = fieldsOf(value);
  const isCondition = (each: unknown): boolean => typeof fieldsOf(each)['status'] === 'boolean';
  if (!Array.isArray(conditions) || !conditions.every(isCondition))
    refuse('status()', '{ conditions: [{ type, status }] }', value);
  return value;
}

export function requireExecResult(value: unknown): ExecResult {
  const { exitCode, stdout, stderr } = fieldsOf(value);
  if (typeof exitCode !== 'number' || typeof stdout !== 'string' || typeof stderr !== 'string')
    refuse('execSync()', '{ exitCode, stdout, stderr }', value);
  return value as ExecResult;
}

function requirePod(value: unknown, path: string): RuntimePod {
  const { uid, name, namespace, sandboxes, containers } = fieldsOf(value);
  for (const [field, text] of Object.entries({ uid, name, namespace }))
    if (typeof text !== 'string') refuse(`${path}.${field}`, 'a string', text);
  if (!Array.isArray(containers)) refuse(`${path}.containers`, 'a list', containers);
  if (sandboxes != null && !Array.isArray(sandboxes)) refuse(`${path}.sandboxes`, 'a list or absent', sandboxes);
  return value as RuntimePod;
}

function fieldsOf(value: unknown): Raw {
  return isObject(value) ? value : {};
}

function listOf<Element>(path: string, expected: string, isElement: (value: unknown) => value is Element) {
  return (value: unknown): readonly Element[] => {
    if (!Array.isArray(value) || !value.every(isElement)) refuse(path, `a list of ${expected}`, value);
    return value;
  };
}

function refuse(path: string, expected: string, value: unknown): never {
  throw new Error(
    `Expected \`${path}\` of the runtime to be ${expected}, got ${value === null ? 'null' : typeof value}`,
  );
}
