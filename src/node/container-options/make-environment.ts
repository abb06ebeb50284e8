import { join } from 'node:path';
import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import { isStaticPod } from '../../kube/pods/static-pods.ts';
import type { Container, EphemeralContainer, Pod } from '../../kube/objects/types.ts';
import { ContainerConfigError } from '../runtime/container-runtime.ts';
import type { HostFiles } from '../host-paths/host-files.ts';
import { expandReferences } from './expand-references.ts';
import { ExpansionLimit } from './expansion-limit.ts';
import { type KnownAddresses, podFieldSelectorRuntimeValue } from './field-value.ts';
import type { ObjectReader, ServiceReader } from './api-object-reader.ts';
import { type Allocatable, resourceFieldValue } from './resource-field-value.ts';
import type { EnvironmentVariable } from './run-container-options.ts';
import { serviceEnvironment, servicesForPod } from './service-environment.ts';
import { HostDirectory } from '../host-paths/host-directory.ts';
import { readAll } from '../host-paths/host-file.ts';
import { resolveInside } from '../host-paths/resolve.ts';

/** Inputs for the environment of a container, in addition to its pod. */
export interface EnvironmentSources extends KnownAddresses {
  /** Undefined without an API server, as are `services`. */
  readonly objects: ObjectReader | undefined;
  readonly services: ServiceReader | undefined;
  /** Of the node. */
  readonly allocatable: Allocatable;
  /** One of the pod's volumes; undefined for another name. */
  readonly volume: (name: string) => { readonly files: HostFiles; readonly path: string } | undefined;
}

/**
 * The environment of a container: `envFrom`, then `env`, then the Service variables; each name once. Source: kubelet
 * `makeEnvironmentVariables`. @throws ContainerConfigError
 */
export async function makeEnvironmentVariables(
  pod: Pod,
  container: Container | EphemeralContainer,
  sources: EnvironmentSources,
): Promise<EnvironmentVariable[]> {
  const { env = [], envFrom = [] } = container;
  const services = await serviceVariables(pod, sources.services);
  const readObject = objectData(pod, sources.objects);
  const values = new Map<string, string>();
  const limit = new ExpansionLimit();
  const set = (name: string, value: string): void => void values.set(limit.count(name), limit.count(value));
  for (const { prefix = '', configMapRef, secretRef } of envFrom) {
    const reference = configMapRef ?? secretRef;
    if (reference === undefined) continue;
    const data = await readObject(configMapRef ? 'configMap' : 'secret', reference.name, reference.optional);
    for (const [key, value] of Object.entries(data ?? {})) set(prefix + key, value);
  }
  const valueOf = (name: string): string | undefined => values.get(name) ?? services.get(name);
  for (const { name, value = '', valueFrom } of env) {
    if (value !== '') values.set(name, expandReferences(value, valueOf, limit));
    else if (valueFrom?.fieldRef) set(name, podFieldSelectorRuntimeValue(valueFrom.fieldRef, pod, sources));
    else if (valueFrom?.resourceFieldRef) {
      set(name, resourceFieldValue(valueFrom.resourceFieldRef, pod, container, sources.allocatable));
    } else if (valueFrom?.configMapKeyRef ?? valueFrom?.secretKeyRef) {
      const kind = valueFrom.configMapKeyRef ? 'configMap' : 'secret';
      const reference = (valueFrom.configMapKeyRef ?? valueFrom.secretKeyRef)!;
      const data = await readObject(kind, reference.name, reference.optional);
      const found = data && Object.hasOwn(data, reference.key) ? data[reference.key] : undefined;
      if (found !== undefined) set(name, found);
      else if (reference.optional !== true)
        throw new ContainerConfigError(
          `couldn't find key ${reference.key} in ${kindNames[kind]} ${pod.metadata?.namespace}/${reference.name}`,
        );
    } else if (valueFrom?.fileKeyRef) {
      const found = await fileValue(valueFrom.fileKeyRef, sources.volume);
      if (found !== '') set(name, found);
    } else if (valueFrom === undefined) set(name, '');
    else throw new ContainerConfigError(`the source of the environment variable ${name} is not supported`);
  }
  for (const [name, value] of services) if (!values.has(name)) values.set(name, value);
  return [...values].map(([name, value]) => ({ name, value }));
}

/** Empty if an optional key is missing. */
async function fileValue(
  { volumeName, path, key, optional }: KubeObject<'FileKeySelector'>,
  volumeOf: EnvironmentSources['volume'],
): Promise<string> {
  const volume = volumeOf(volumeName);
  if (volume === undefined)
    throw new ContainerConfigError(`cannot find the volume ${JSON.stringify(volumeName)} referenced by FileKeyRef`);
  const value = await readEnvFile(volume.files, volume.path, path, key).catch((cause: unknown) => {
    // The error has no details, because they could show parts of files.
    throw new ContainerConfigError("couldn't parse env file", { cause });
  });
  if (value === '' && optional !== true)
    throw new ContainerConfigError(
      `environment variable key ${JSON.stringify(key)} not found in file ${JSON.stringify(join(volume.path, path))}`,
    );
  return value;
}

type ObjectKind = 'configMap' | 'secret';
const kindNames: Readonly<Record<ObjectKind, string>> = { configMap: 'ConfigMap', secret: 'Secret' };

async function serviceVariables(pod: Pod, services: ServiceReader | undefined): Promise<ReadonlyMap<string, string>> {
  const { enableServiceLinks } = podSpecOf(pod);
  const { namespace = '' } = pod.metadata ?? {};
  if (enableServiceLinks === undefined)
    throw new ContainerConfigError('nil pod.spec.enableServiceLinks encountered, cannot construct envvars');
  if (services === undefined) return new Map();
  // Static pods must start without Services: one of them may be the API server.
  if (!isStaticPod(pod)) {
    await services.waitForSync().catch((cause: unknown) => {
      const message = 'services have not yet been read at least once, cannot construct envvars';
      throw new ContainerConfigError(message, { cause });
    });
  }
  const namespaces = new Set(['default', ...(enableServiceLinks ? [namespace] : [])]);
  const known = [...namespaces].flatMap((one) => services.listServices(one));
  const variables = serviceEnvironment(servicesForPod(known, namespace, enableServiceLinks));
  return new Map(variables.map(({ name, value }) => [name, value]));
}

/** Reads the data of ConfigMaps and Secrets, each at most once, so that a container gets one version of an object. */
function objectData({ metadata: { namespace = '' } = {} }: Pod, objects: ObjectReader | undefined) {
  const read = new Map<string, Promise<Readonly<Record<string, string>> | undefined>>();
  return async (kind: ObjectKind, name = '', optional = false) => {
    if (objects === undefined)
      throw new ContainerConfigError(`couldn't get ${kind} ${namespace}/${name}, no kubeClient defined`);
    const key = `${kind}/${name}`;
    if (!read.has(key)) read.set(key, textsOf(objects, kind, namespace, name));
    const data = await read.get(key);
    if (data === undefined && !optional)
      throw new ContainerConfigError(`${kind.toLowerCase()} ${JSON.stringify(name)} not found`);
    return data;
  };
}

async function textsOf(
  objects: ObjectReader,
  kind: ObjectKind,
  namespace: string,
  name: string,
): Promise<Readonly<Record<string, string>> | undefined> {
  if (kind === 'configMap') {
    const configMap = await objects.getConfigMap(namespace, name);
    return configMap && (configMap.data ?? {});
  }
  const secret = await objects.getSecret(namespace, name);
  if (secret === undefined) return undefined;
  const entries = Object.entries(secret.data ?? {});
  return Object.fromEntries(entries.map(([key, value]) => [key, Buffer.from(value, 'base64').toString()]));
}

/** Much more than the kernel passes to a process. */
const maxFileBytes = 1024 * 1024;

/**
 * The value of a variable in a file of a volume; empty if the file does not assign it. Rejects if the file is missing,
 * is outside of the volume through a link, or has invalid lines before the variable. Source: kubelet `envutil.ParseEnv`.
 *
 * Divergence: a file of more than 1 MiB is refused; the kubelet reads as far as the variable.
 */
export async function readEnvFile(files: HostFiles, volume: string, path: string, key: string): Promise<string> {
  const { root, names } = await resolveInside(files, volume, path);
  const file = await HostDirectory.use(files, root, names.slice(0, -1), (folder) =>
    folder.openFile(names.at(-1) ?? ''),
  );
  return parseEnvFile((await readAll(file, maxFileBytes)).toString(), key);
}

/**
 * The value of a variable in lines of `NAME='value'`. A value is literal and may have several lines; comments and empty
 * lines are skipped. Lines behind the variable are not read. @throws Error with the number of an invalid line
 */
export function parseEnvFile(text: string, key: string): string {
  const lines = text.split('\n').map((line) => line.replace(/\r$/, ''));
  // The last newline does not begin another line.
  if (lines.at(-1) === '') lines.pop();
  for (let index = 0; index < lines.length; index += 1) {
    const line = lines[index]!.replace(/^[ \t]+/, '');
    if (line === '' || line.startsWith('#')) continue;
    const equals = line.indexOf('=');
    const name = line.slice(0, Math.max(equals, 0));
    if (equals === -1) refuse(index, "missing '='");
    if (/^[ \t]*$/.test(name)) refuse(index, 'empty variable name');
    if (/[ \t]$/.test(name)) refuse(index, "whitespace before '=' is not allowed");
    let rest = line.slice(equals + 1);
    // As in a shell, the value is empty, and the rest is another word.
    if (/^[ \t]/.test(rest)) {
      if (name === key) return '';
      continue;
    }
    if (!rest.startsWith("'")) refuse(index, 'value must be enclosed in single quotes');

    const start = index;
    const value: string[] = [];
    rest = rest.slice(1);
    while (!rest.includes("'")) {
      value.push(rest);
      index += 1;
      if (index === lines.length) refuse(start, 'unclosed single quote');
      rest = lines[index]!;
    }
    const end = rest.indexOf("'");
    if (!/^[ \t]*(#|$)/.test(rest.slice(end + 1))) refuse(index, 'unexpected content after closing quote');
    if (name === key) return [...value, rest.slice(0, end)].join('\n');
  }
  return '';
}

function refuse(index: number, why: string): never {
  throw new Error(`invalid environment variable format at line ${index + 1}: ${why}`);
}
