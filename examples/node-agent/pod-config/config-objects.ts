import { APIError } from 'kubelet-status-manager';
import { type KubeTransport, pathSegment } from 'kubelet-status-manager/http';

/** The data of a ConfigMap or Secret, by key. */
export type ConfigData = ReadonlyMap<string, Buffer>;

export type ConfigObjectKind = 'configmap' | 'secret';

/** Reads ConfigMaps and Secrets. */
export interface ConfigObjects {
  /** Resolves with undefined if the object does not exist. */
  read(kind: ConfigObjectKind, namespace: string, name: string): Promise<ConfigData | undefined>;
}

/** Reads them from the API server. A node's user may read those that the pods of the node refer to. */
export function createConfigObjects(transport: Pick<KubeTransport, 'request'>): ConfigObjects {
  return {
    async read(kind, namespace, name) {
      const path = `/api/v1/namespaces/${pathSegment(namespace, 'namespace')}/${kind}s/${pathSegment(name, 'name')}`;
      try {
        return configData((await transport.request('GET', path)).json() as ConfigObject, kind);
      } catch (error) {
        if (error instanceof APIError && error.statusCode === 404) return undefined;
        throw error;
      }
    },
  };
}

interface ConfigObject {
  readonly data?: { readonly [key: string]: string } | null;
  readonly binaryData?: { readonly [key: string]: string } | null;
}

function configData({ data, binaryData }: ConfigObject, kind: ConfigObjectKind): ConfigData {
  const encoding = kind === 'secret' ? 'base64' : 'utf8';
  return new Map([
    ...Object.entries(data ?? {}).map(([key, value]) => [key, Buffer.from(value, encoding)] as const),
    ...Object.entries(binaryData ?? {}).map(([key, value]) => [key, Buffer.from(value, 'base64')] as const),
  ]);
}
