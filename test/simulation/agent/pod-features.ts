import type { Random } from '../../chaos/random.ts';
import type { Json } from '../../support/kube-http.ts';
import { objectNames } from './simulated-volumes.ts';

/** What few pods have, and some of which no container can have. */
export function withFeatures(spec: Json, random: Random): Json {
  if (random.chance(0.5)) return spec;
  const security = podSecurity(random, spec.hostNetwork === true);
  const changed = { ...spec, ...(random.chance(0.5) && security), ...(random.chance(0.3) && names(random)) };
  const containers = (spec.containers as Json[]).map((container) => ({
    ...container,
    ...(random.chance(0.3) && { securityContext: containerSecurity(random) }),
    ...(random.chance(0.2) && { terminationMessagePolicy: 'FallbackToLogsOnError' }),
    ...(random.chance(0.2) && { env: environment(random) }),
    ...(random.chance(0.2) && { imagePullPolicy: random.pick(['Never', 'Always', 'IfNotPresent']) }),
    ...(random.chance(0.1) && { image: random.pick(['a', 'b@sha256:1234', 'Invalid:Name:1', 'c:latest']) }),
    ...(spec.hostNetwork !== true &&
      random.chance(0.05) && {
        ports: [{ containerPort: 80, hostPort: 8_080, protocol: random.pick(['TCP', 'UDP']) }],
      }),
  }));
  return random.chance(0.5)
    ? withUnusualVolumes({ ...changed, containers }, random.fork('volumes'))
    : { ...changed, containers };
}

function podSecurity(random: Random, isHostNetwork: boolean): Json {
  const profile = random.pick([
    { type: 'RuntimeDefault' },
    { type: 'Localhost', localhostProfile: 'p.json' },
    undefined,
  ]);
  return {
    ...(random.chance(0.5) && !isHostNetwork && { hostUsers: false }),
    ...(random.chance(0.2) && { shareProcessNamespace: true }),
    ...(random.chance(0.1) && { priorityClassName: 'system-node-critical', priority: 2_000_001_000 }),
    securityContext: {
      ...(random.chance(0.4) && { fsGroup: 2_000 }),
      ...(random.chance(0.3) && { runAsUser: random.pick([0, 1_000]) }),
      ...(random.chance(0.3) && { runAsNonRoot: true }),
      ...(random.chance(0.2) && { supplementalGroups: [3_000] }),
      ...(profile !== undefined && { seccompProfile: profile }),
      ...(random.chance(0.2) && { seLinuxOptions: { user: 'u', role: 'r', type: 't', level: 's0' } }),
      ...(random.chance(0.2) &&
        !isHostNetwork && { sysctls: [{ name: 'net.ipv4.ip_unprivileged_port_start', value: '0' }] }),
    },
  };
}

function containerSecurity(random: Random): Json {
  return {
    ...(random.chance(0.3) && { runAsUser: random.pick([0, 1_000]) }),
    ...(random.chance(0.3) && { capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] } }),
    ...(random.chance(0.3) && { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false }),
    ...(random.chance(0.2) && { seccompProfile: { type: 'Unconfined' } }),
  };
}

function names(random: Random): Json {
  return {
    ...(random.chance(0.5) && { hostAliases: [{ ip: '10.9.9.9', hostnames: ['a.example.org', 'b.example.org'] }] }),
    ...(random.chance(0.5) && { hostname: 'named', subdomain: 'sub', setHostnameAsFQDN: random.chance(0.3) }),
    ...(random.chance(0.5) && {
      dnsPolicy: 'None',
      dnsConfig: { nameservers: ['10.1.1.1'], options: [{ name: 'ndots' }] },
    }),
  };
}

function environment(random: Random): Json[] {
  const name = random.pick(objectNames);
  const kinds: Json[] = [
    { name: 'PLAIN', value: 'one' },
    { name: 'EXPANDED', value: '$(PLAIN)-$(MISSING)' },
    { name: 'POD', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
    { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
    { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu' } } },
    { name: 'SECRET', valueFrom: { secretKeyRef: { name, key: 'a' } } },
    { name: 'CONFIG', valueFrom: { configMapKeyRef: { name, key: 'missing', optional: random.chance(0.8) } } },
  ];
  return kinds.filter(() => random.chance(0.6));
}

/** Volumes of rare kinds, with mounts of rare kinds; some of them can never be set up. */
function withUnusualVolumes(spec: Json, random: Random): Json {
  const name = random.pick(objectNames);
  const kinds: Record<string, Json> = {
    limited: { emptyDir: { sizeLimit: random.pick(['1Ki', '1Mi', '1Gi']) } },
    pages: { emptyDir: { medium: random.pick(['HugePages', 'HugePages-2Mi']) } },
    image: { image: { reference: random.pick(['a:1', 'b:1']), pullPolicy: 'IfNotPresent' } },
    key: { secret: { secretName: name, items: [{ key: random.pick(['a', 'none']), path: 'deep/key' }] } },
    mapped: { configMap: { name, optional: true, defaultMode: 0o440, items: [{ key: 'none', path: 'x' }] } },
    all: {
      projected: {
        defaultMode: 0o400,
        sources: [
          { secret: { name, items: [{ key: 'a', path: 'secret', mode: 0o440 }], optional: true } },
          {
            downwardAPI: {
              items: [{ path: 'cpu', resourceFieldRef: { containerName: 'c0', resource: 'requests.cpu' } }],
            },
          },
          ...(random.chance(0.1) ? [{ clusterTrustBundle: { name: 'bundle', path: 'bundle.pem' } }] : []),
        ],
      },
    },
    remote: { nfs: { server: 'files.example.org', path: '/' } },
  };
  const weights: Record<string, number> = {
    limited: 0.2,
    pages: 0.15,
    image: 0.15,
    key: 0.3,
    mapped: 0.4,
    all: 0.4,
    remote: 0.03,
  };
  const chosen = Object.entries(kinds).filter(([kind]) => random.chance(weights[kind]!));
  const hasPages = chosen.some(([kind]) => kind === 'pages');
  const sizes = random.pick([{ 'hugepages-2Mi': '4Mi' }, { 'hugepages-2Mi': '4Mi', 'hugepages-1Gi': '1Gi' }, {}]);
  const mount = (kind: string): Json => ({
    name: kind,
    mountPath: random.pick([`/unusual/${kind}`, `/volumes/config/${kind}`, `/unusual/all/${kind}`]),
    ...(random.chance(0.4) && {
      readOnly: true,
      ...(random.chance(0.4) && { recursiveReadOnly: random.pick(['IfPossible', 'Enabled']) }),
    }),
    ...(random.chance(0.2) && { mountPropagation: random.pick(['None', 'HostToContainer']) }),
    ...(random.chance(0.2) && { subPathExpr: random.pick(['$(POD)/x', 'plain', '$(NONE)']) }),
  });
  const mounts = chosen.map(([kind]) => mount(kind));
  return {
    ...spec,
    volumes: [...(spec.volumes ?? []), ...chosen.map(([kind, source]) => ({ name: kind, ...source }))],
    containers: (spec.containers as Json[]).map((container) => {
      const { requests, limits } = container.resources ?? {};
      const resources = { requests: { cpu: '10m', ...requests, ...sizes }, limits: { ...limits, ...sizes } };
      return {
        ...container,
        ...(hasPages && container.name === 'c0' && { resources }),
        volumeMounts: [...(container.volumeMounts ?? []), ...mounts],
      };
    }),
  };
}
