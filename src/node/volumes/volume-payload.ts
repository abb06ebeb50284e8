import { normalize } from 'node:path';
import { type KubeObject, podSpecOf } from '../../kube/objects/kube-object.ts';
import { allContainersOf } from '../../kube/pods/pod-containers.ts';
import type { Pod } from '../../kube/objects/types.ts';
import { fieldPathAsString } from '../container-options/field-value.ts';
import type { ObjectReader } from '../container-options/api-object-reader.ts';
import { type Allocatable, resourceFieldValue } from '../container-options/resource-field-value.ts';
import { requirePathLength } from '../host-paths/names.ts';
import type { PodScope } from '../pod-scope.ts';
import { refusedFields } from '../pod-spec/refused-fields.ts';
import { fsGroupOf, type Volume } from './volume-sources.ts';

/** One file of a volume. Source: kubelet `FileProjection`. */
export interface FileProjection {
  readonly data: Buffer;
  readonly mode: number;
  /** The UID of its owner. Default: the user of the agent. */
  readonly uid?: number | undefined;
}

/** Files by path below the volume. */
export type VolumePayload = ReadonlyMap<string, FileProjection>;

/** The sources of volume files. */
export interface PayloadSources {
  /** Undefined without an API server. */
  readonly objects: ObjectReader | undefined;
  /** Of the node. */
  readonly allocatable: Allocatable;
  /** Called with the size of each file; may throw. Default: no limit. */
  readonly countBytes?: ((bytes: number) => void) | undefined;
}

type Data = ReadonlyMap<string, Buffer>;
type Entry = readonly [path: string, file: FileProjection];

const defaultFileMode = 0o644;
/** Source: kubelet `projected.collectData`. */
const tokenMode = 0o600;

/** @throws Error for a field that the agent refuses */
export function requireSupportedVolume(volume: Volume): void {
  const [refused] = refusedFields('Volume', volume, 'volume');
  if (refused !== undefined) throw new Error(`${refused.path} is not supported by this agent: ${refused.because}`);
}

/** The message of the Event FailedMount. */
export function setUpFailure({ name }: Volume, error: unknown): string {
  return `MountVolume.SetUp failed for volume ${JSON.stringify(name)} : ${(error as Error).message}`;
}

/** The files of a volume that API objects fill. Source: kubelet `MakePayload`, `CollectData`, `collectData`. */
export async function collectPayload(
  pod: Pod,
  volume: Volume,
  scope: PodScope,
  sources: PayloadSources,
): Promise<VolumePayload> {
  const { configMap, secret, downwardAPI, projected } = volume;
  const defaultMode = (configMap ?? secret ?? downwardAPI ?? projected)?.defaultMode ?? defaultFileMode;
  const projections: readonly KubeObject<'VolumeProjection'>[] = projected
    ? (projected.sources ?? [])
    : [{ configMap, secret: secret && { ...secret, name: secret.secretName }, downwardAPI }];
  const payload = new Map<string, FileProjection>();
  for (const projection of projections)
    for (const [path, file] of await projectedFiles(pod, projection, defaultMode, scope, sources)) {
      sources.countBytes?.(file.data.length);
      payload.set(pathInside(path), file);
    }
  return payload;
}

async function projectedFiles(
  pod: Pod,
  projection: KubeObject<'VolumeProjection'>,
  defaultMode: number,
  scope: PodScope,
  sources: PayloadSources,
): Promise<readonly Entry[]> {
  const { configMap, secret, downwardAPI, serviceAccountToken } = projection;
  if (downwardAPI) return downwardFiles(pod, downwardAPI, defaultMode, sources.allocatable);
  const { objects } = sources;
  if (objects === undefined) throw new Error('cannot set up the volume because kube client is not configured');
  if (configMap) return objectFiles(await configMapData(pod, configMap, objects), 'config', configMap, defaultMode);
  if (secret) return objectFiles(await secretData(pod, secret, objects), 'secret', secret, defaultMode);
  if (serviceAccountToken) {
    const token = await objects.getServiceAccountToken(pod, serviceAccountToken, scope);
    const uid = commonUser(pod);
    const mode = uid !== undefined || fsGroupOf(pod) !== undefined ? tokenMode : defaultMode;
    return [[serviceAccountToken.path, { data: Buffer.from(token), mode, uid }]];
  }
  throw new Error(`projected source ${Object.keys(projection).join(', ')} is not supported by this agent`);
}

async function configMapData(
  pod: Pod,
  { name = '', optional }: KubeObject<'ConfigMapProjection'>,
  objects: ObjectReader,
): Promise<Data> {
  const object = await objects.getConfigMap(pod.metadata?.namespace ?? '', name);
  if (object === undefined && optional !== true) throw new Error(`configmap ${JSON.stringify(name)} not found`);
  const texts = Object.entries(object?.data ?? {}).map(([key, value]) => [key, Buffer.from(value)] as const);
  return new Map([...texts, ...decoded(object?.binaryData)]);
}

async function secretData(
  pod: Pod,
  { name = '', optional }: KubeObject<'ConfigMapProjection'>,
  objects: ObjectReader,
): Promise<Data> {
  const object = await objects.getSecret(pod.metadata?.namespace ?? '', name);
  if (object === undefined && optional !== true) throw new Error(`secret ${JSON.stringify(name)} not found`);
  return new Map(decoded(object?.data));
}

function decoded(data: Readonly<Record<string, string>> = {}): (readonly [string, Buffer])[] {
  return Object.entries(data).map(([key, value]) => [key, Buffer.from(value, 'base64')]);
}

function objectFiles(
  data: Data,
  kind: 'config' | 'secret',
  {
    items = [],
    optional,
  }: { readonly items?: readonly KubeObject<'KeyToPath'>[] | undefined; readonly optional?: boolean | undefined },
  defaultMode: number,
): readonly Entry[] {
  if (items.length === 0) return [...data].map(([key, bytes]) => [key, { data: bytes, mode: defaultMode }]);
  return items.flatMap(({ key, path, mode = defaultMode }): readonly Entry[] => {
    const bytes = data.get(key);
    if (bytes !== undefined) return [[path, { data: bytes, mode }]];
    if (optional === true) return [];
    const prefix = kind === 'config' ? 'configmap ' : '';
    throw new Error(`${prefix}references non-existent ${kind} key: ${key}`);
  });
}

function downwardFiles(
  pod: Pod,
  { items = [] }: KubeObject<'DownwardAPIProjection'>,
  defaultMode: number,
  allocatable: Allocatable,
): readonly Entry[] {
  return items.map(({ path, fieldRef, resourceFieldRef, mode = defaultMode }) => {
    const text = fieldRef
      ? fieldPathAsString(pod, fieldRef.fieldPath)
      : resourceFieldRef
        ? resourceFieldValue(resourceFieldRef, pod, undefined, allocatable)
        : '';
    return [path, { data: Buffer.from(text), mode }];
  });
}

/** The user that all containers run as, if the spec says so. Source: kubelet `FsUserFrom`. */
function commonUser(pod: Pod): number | undefined {
  const spec = podSpecOf(pod);
  const { securityContext } = spec;
  const users = new Set(
    allContainersOf(spec).map((one) => one.securityContext?.runAsUser ?? securityContext?.runAsUser),
  );
  return users.size === 1 ? [...users][0] : undefined;
}

/** Source: kubelet `validatePath`. */
function pathInside(path: string): string {
  const clean = normalize(requirePathLength(path));
  if (path === '' || clean.startsWith('/') || clean.split('/').includes('..') || clean.startsWith('..'))
    throw new Error(`invalid path: must be relative and not contain '..': ${path}`);
  return clean;
}
