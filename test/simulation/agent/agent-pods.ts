import { finalizer, foreignConditionType, nodeName } from '../../chaos/users.ts';
import type { Random } from '../../chaos/random.ts';
import type { Json } from '../../support/kube-http.ts';
import { withFeatures } from './pod-features.ts';
import { withResources } from './pod-resources.ts';
import { makeVolumes } from './simulated-volumes.ts';

/** A pod of a user. What its containers do is in their arguments: see `ContainerScript`. */
export function makeAgentPod(name: string, random: Random): Json {
  const restartPolicy = random.pick(['Always', 'Always', 'OnFailure', 'Never']);
  const hasGate = random.chance(0.15);
  const hasSecret = random.chance(0.5);
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...(random.chance(0.15) && { finalizers: [finalizer] }) },
    spec: {
      nodeName,
      ...specOf(makeSpec(random, restartPolicy), random),
      ...(hasSecret && { imagePullSecrets: [{ name: random.pick(['pull-secret', 'pull-secret', 'other-secret']) }] }),
      ...(hasGate && { readinessGates: [{ conditionType: foreignConditionType }] }),
    },
  };
}

function specOf(spec: Json, random: Random): Json {
  const withMounts = withVolumes(spec, random.fork('volumes'));
  return withFeatures(withResources(withMounts, random.fork('resources')), random.fork('features'));
}

/** The same pod with volumes, which all its containers have. */
function withVolumes(spec: Json, random: Random): Json {
  if (random.chance(0.3)) return spec;
  const { volumes, volumeMounts } = makeVolumes(random);
  const mounted = (containers: readonly Json[] = []): Json[] =>
    containers.map((container) => ({ ...container, volumeMounts }));
  const { containers, initContainers } = spec;
  return {
    ...spec,
    ...{ volumes, serviceAccountName: 'default', containers: mounted(containers) },
    ...(initContainers !== undefined && { initContainers: mounted(initContainers) }),
  };
}

/** A pod whose containers run for the whole time, and can be resized. */
export function makeDaemon(name: string, random: Random): Json {
  const containers = Array.from({ length: random.integer(1, 2) }, (_, i) => ({
    ...{ name: `c${i}`, image: 'a:1', args: ['forever'] },
    resources: { requests: { cpu: '100m' }, limits: { cpu: '200m' } },
  }));
  const volumes = [{ name: 'measured', emptyDir: { sizeLimit: '1Gi' } }];
  const spec = { nodeName, automountServiceAccountToken: false, terminationGracePeriodSeconds: 1, containers, volumes };
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec };
}

/** The manifest of a static pod. */
export function makeManifest(name: string, random: Random): Json {
  const spec = makeSpec(random, random.pick(['Always', 'OnFailure']));
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name, namespace: 'default' }, spec };
}

function makeSpec(random: Random, restartPolicy: string): Json {
  const initContainers = Array.from({ length: random.pick([0, 0, 1, 2]) }, (_, i) =>
    random.chance(0.4) ? makeSidecar(`s${i}`, random) : makeInitContainer(`i${i}`, random),
  );
  const containers = Array.from({ length: random.integer(1, 3) }, (_, i) =>
    makeContainer(`c${i}`, random, restartPolicy),
  );
  return {
    automountServiceAccountToken: false,
    restartPolicy,
    terminationGracePeriodSeconds: random.pick([0, 1, 5, 30]),
    ...(initContainers.length > 0 && { initContainers }),
    containers,
    ...(random.chance(0.1) && { hostNetwork: true }),
    ...(random.chance(0.1) && { activeDeadlineSeconds: random.integer(3, 30) }),
  };
}

/** Whether this is the name of an init container or a sidecar. */
export function isInitContainer(name: string): boolean {
  return /^[is]\d/.test(name);
}

function makeInitContainer(name: string, random: Random): Json {
  const fails = random.chance(0.3) ? [`after=${random.integer(10, 2_000)}:1`] : [];
  return { name, image: imageOf(random), args: [...fails, `after=${random.integer(10, 3_000)}:0`, stopArg(random)] };
}

function makeSidecar(name: string, random: Random): Json {
  return {
    ...{ name, image: imageOf(random), restartPolicy: 'Always', args: [...runsOf(random), stopArg(random)] },
    ...(random.chance(0.3) && { startupProbe: probe(random, 0.3) }),
  };
}

function makeContainer(name: string, random: Random, restartPolicy: string): Json {
  const ends = restartPolicy !== 'Always' && random.chance(0.6);
  const postStart = random.chance(0.1) && { postStart: hook(random) };
  const isInvalid = random.chance(0.02);
  const preStop = random.chance(0.2) && { preStop: hook(random) };
  return {
    name,
    image: imageOf(random),
    args: [
      ...runsOf(random),
      ends ? `after=${random.integer(500, 10_000)}:${random.pick([0, 0, 1])}` : 'forever',
      stopArg(random),
    ],
    ...(random.chance(0.25) && { readinessProbe: probe(random, 0.1) }),
    ...(random.chance(0.1) && { livenessProbe: probe(random, 0.1) }),
    ...(random.chance(0.1) && { startupProbe: probe(random, 0.3) }),
    ...(isInvalid && { command: ['invalid'] }),
    ...((postStart || preStop) && { lifecycle: { ...postStart, ...preStop } }),
  };
}

/** Some runs that end, before the one that repeats. */
function runsOf(random: Random): string[] {
  if (!random.chance(0.3)) return [];
  return [`after=${random.integer(100, 5_000)}:${random.pick([0, 1, 1])}`];
}

function stopArg(random: Random): string {
  return `stop=${random.pick([0, 10, 500, 1_500, 60_000])}:${random.pick([0, 143])}`;
}

function imageOf(random: Random): string {
  return random.pick([
    'a:1',
    'a:1',
    'b:1',
    'b:2',
    'private:1',
    'private:1',
    random.pick(['missing:1', 'unreachable:1', 'c:1']),
  ]);
}

/** The command fails with a probability, and takes some milliseconds. */
function command(random: Random, failures: number): string[] {
  return [
    'sim',
    String(random.chance(0.5) ? 0 : failures),
    String(random.chance(0.1) ? 1_500 : random.integer(1, 200)),
  ];
}

function probe(random: Random, failures: number): Json {
  return {
    exec: { command: command(random, failures) },
    periodSeconds: random.integer(1, 3),
    failureThreshold: random.integer(1, 3),
    initialDelaySeconds: random.pick([0, 0, 2]),
  };
}

function hook(random: Random): Json {
  return random.chance(0.5)
    ? { sleep: { seconds: random.integer(1, 3) } }
    : { exec: { command: command(random, 0.2) } };
}
