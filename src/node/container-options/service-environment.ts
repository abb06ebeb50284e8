import type { EnvironmentVariable } from './run-container-options.ts';
import type { Service } from './api-object-reader.ts';

const masterNamespace = 'default';
const masterName = 'kubernetes';

/**
 * The Services that a pod's environment describes: `kubernetes` of the namespace `default`, and with
 * `enableServiceLinks` those of its own namespace. Source: kubelet `getServiceEnvVarMap`.
 */
export function servicesForPod(
  services: readonly Service[],
  namespace: string,
  enableServiceLinks: boolean,
): readonly Service[] {
  const byName = new Map<string, Service>();
  for (const service of services.filter(hasClusterIP)) {
    const { name, namespace: serviceNamespace } = service.metadata;
    if (serviceNamespace === masterNamespace && name === masterName) {
      if (!byName.has(name)) byName.set(name, service);
    } else if (serviceNamespace === namespace && enableServiceLinks) byName.set(name, service);
  }
  return [...byName.values()];
}

/** Variables with the addresses and ports of Services. Source: kubelet `envvars.FromServices`. */
export function serviceEnvironment(services: readonly Service[]): EnvironmentVariable[] {
  return services.filter(hasClusterIP).flatMap(({ metadata, spec: { clusterIP = '', ports = [] } }) => {
    const prefix = variableName(metadata.name);
    const named = ports.filter(({ name }) => name);
    return [
      { name: `${prefix}_SERVICE_HOST`, value: clusterIP },
      { name: `${prefix}_SERVICE_PORT`, value: String(ports[0]?.port ?? '') },
      ...named.map(({ name = '', port }) => {
        return { name: `${prefix}_SERVICE_PORT_${variableName(name)}`, value: String(port) };
      }),
      ...ports.flatMap(({ port, protocol = 'TCP' }, index) => {
        const lowerProtocol = protocol.toLowerCase();
        const host = clusterIP.includes(':') ? `[${clusterIP}]` : clusterIP;
        const url = `${lowerProtocol}://${host}:${port}`;
        const portPrefix = `${prefix}_PORT_${port}_${protocol.toUpperCase()}`;
        return [
          ...(index === 0 ? [{ name: `${prefix}_PORT`, value: url }] : []),
          { name: portPrefix, value: url },
          { name: `${portPrefix}_PROTO`, value: lowerProtocol },
          { name: `${portPrefix}_PORT`, value: String(port) },
          { name: `${portPrefix}_ADDR`, value: clusterIP },
        ];
      }),
    ];
  });
}

export function hasClusterIP({ spec: { clusterIP } }: Service): boolean {
  return clusterIP !== undefined && clusterIP !== '' && clusterIP !== 'None';
}

function variableName(name: string): string {
  return name.replaceAll('-', '_').toUpperCase();
}
