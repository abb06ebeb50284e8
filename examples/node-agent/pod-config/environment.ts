import type { Container, Pod } from 'kubelet-status-manager';
import { ContainerConfigError } from 'kubelet-status-manager/agent';
import type { ConfigData, ConfigObjectKind, ConfigObjects } from './config-objects.ts';
import { expandReferences } from './expand-references.ts';
import { fieldValue, type NodeFacts } from './field-ref.ts';

interface KeySelector {
  readonly name?: string;
  readonly key: string;
  readonly optional?: boolean;
}

interface EnvVarSource {
  readonly fieldRef?: { readonly fieldPath: string };
  readonly resourceFieldRef?: object;
  readonly configMapKeyRef?: KeySelector;
  readonly secretKeyRef?: KeySelector;
}

interface ObjectSelector {
  readonly name?: string;
  readonly optional?: boolean;
}

interface EnvFromSource {
  readonly prefix?: string;
  readonly configMapRef?: ObjectSelector;
  readonly secretRef?: ObjectSelector;
}

/**
 * The environment variables of a container's `envFrom` and `env`.
 * @throws ContainerConfigError with the kubelet's message if a referenced object does not exist
 * Source: kubelet `makeEnvironmentVariables`.
 */
export async function makeEnvironmentVariables(
  pod: Pod,
  { env = [], envFrom = [] }: Container,
  configObjects: ConfigObjects,
  node: NodeFacts,
): Promise<Map<string, string>> {
  const namespace = pod.metadata?.namespace ?? '';
  const result = new Map<string, string>();
  for (const { prefix = '', configMapRef, secretRef } of envFrom as readonly EnvFromSource[]) {
    const [kind, reference] =
      configMapRef == null ? (['secret', secretRef] as const) : (['configmap', configMapRef] as const);
    if (reference == null) continue;
    const data = await readObject(configObjects, kind, namespace, reference);
    for (const [key, value] of data ?? []) {
      if (isEnvVarName(prefix + key)) result.set(prefix + key, value.toString());
    }
  }

  // `$(NAME)` refers to variables of `env` before it, not to those of `envFrom`.
  const expandable = new Map<string, string>();
  for (const { name, value, valueFrom } of env) {
    const resolved = value
      ? expandReferences(value, expandable)
      : await sourceValue(pod, valueFrom ?? {}, configObjects, node);
    if (resolved === undefined) continue;
    expandable.set(name, resolved);
    result.set(name, resolved);
  }
  return result;
}

/** Undefined for an optional key that does not exist. */
async function sourceValue(
  pod: Pod,
  { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef }: EnvVarSource,
  configObjects: ConfigObjects,
  node: NodeFacts,
): Promise<string | undefined> {
  const namespace = pod.metadata?.namespace ?? '';
  if (fieldRef != null) {
    try {
      return fieldValue(pod, fieldRef.fieldPath, node);
    } catch (error) {
      throw new ContainerConfigError((error as Error).message);
    }
  }
  if (resourceFieldRef != null) throw new ContainerConfigError('this agent does not support resourceFieldRef');
  if (configMapKeyRef != null) return keyValue(configObjects, 'configmap', namespace, configMapKeyRef);
  if (secretKeyRef != null) return keyValue(configObjects, 'secret', namespace, secretKeyRef);
  return '';
}

async function keyValue(
  configObjects: ConfigObjects,
  kind: ConfigObjectKind,
  namespace: string,
  selector: KeySelector,
): Promise<string | undefined> {
  const value = (await readObject(configObjects, kind, namespace, selector))?.get(selector.key);
  if (value !== undefined || selector.optional === true) return value?.toString();
  const typeName = kind === 'secret' ? 'Secret' : 'ConfigMap';
  throw new ContainerConfigError(`couldn't find key ${selector.key} in ${typeName} ${namespace}/${selector.name}`);
}

/** Undefined for an optional object that does not exist. */
async function readObject(
  configObjects: ConfigObjects,
  kind: ConfigObjectKind,
  namespace: string,
  { name = '', optional }: ObjectSelector,
): Promise<ConfigData | undefined> {
  const data = await configObjects.read(kind, namespace, name);
  if (data === undefined && optional !== true) throw new ContainerConfigError(`${kind} "${name}" not found`);
  return data;
}

/** Other names are skipped. Source: apimachinery `IsRelaxedEnvVarName`. */
function isEnvVarName(name: string): boolean {
  return /^[\x20-\x3c\x3e-\x7e]+$/.test(name);
}
