import type { Json } from '../../support/kube-http.ts';
import type { Random } from '../random.ts';
import { nodeName } from '../users.ts';
import { finalizer, foreignConditionType } from '../users.ts';

/** The exit code of a container that was told to stop. */
const stoppedExitCode = 42;
const forever = '100000:0';
const staticVersionAnnotation = 'chaos.example.com/version';

/**
 * What each container runs. Its arguments are its runs, as `SECONDS:EXIT_CODE`; the last one is
 * repeated. It writes to its ledger when it starts, exits on its own, is told to stop, and finds an
 * earlier run of the same container still running. In the command of a container, `$$` is one `$`.
 */
const script = `: chaos-container
self=$$$$
id=\${HOME%/root}
id=\${id##*/}
ledger=$LEDGER/$POD_UID.$NAME
stop() {
  trap '' TERM
  echo "stop $id $self ${stoppedExitCode}" >>"$ledger"
  exit ${stoppedExitCode}
}
if [ -n "$IGNORE_TERM" ]; then trap '' TERM; else trap stop TERM; fi
echo "start $id $self" >>"$ledger"
runs=0
while read -r what other pid rest; do
  [ "$what" = start ] || continue
  runs=$((runs + 1))
  if [ "$pid" != $self ] && kill -0 "$pid" 2>/dev/null; then
    case $(ps -o stat=,args= -p "$pid") in
      Z*) ;;
      *chaos-container*) echo "overlap $id $self $other" >>"$ledger" ;;
    esac
  fi
done <"$ledger"
while [ "$runs" -gt 1 ] && [ $# -gt 1 ]; do
  runs=$((runs - 1))
  shift
done
sleep "\${1%:*}" &
wait $!
trap '' TERM
echo "exit $id $self \${1#*:}" >>"$ledger"
exit "\${1#*:}"
`;

/** A pod with containers that write to the ledger, for each restart policy. */
export function makeScriptedPod(name: string, random: Random, ledgerDir: string): Json {
  const restartPolicy = random.pick(['Always', 'Always', 'OnFailure', 'Never']);
  const container = (containerName: string, runs: readonly string[]): Json =>
    makeContainer(containerName, runs, random, ledgerDir);
  const initContainers = [
    ...(random.chance(0.3) ? [container('init', [...someFailures(random, 1), endingRun(random, [0])])] : []),
    ...(random.chance(0.15) ? [{ ...container('sidecar', [forever]), restartPolicy: 'Always' }] : []),
  ];
  const runs = (): string[] => {
    switch (restartPolicy) {
      case 'Never':
        return [endingRun(random, [0, 0, 1, 7])];
      case 'OnFailure':
        return [...someFailures(random, 2), endingRun(random, [0])];
      default:
        return [...Array.from({ length: random.integer(0, 2) }, () => endingRun(random, [0, 3, 5])), forever];
    }
  };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', ...(random.chance(0.15) && { finalizers: [finalizer] }) },
    spec: {
      nodeName,
      automountServiceAccountToken: false,
      restartPolicy,
      terminationGracePeriodSeconds: random.pick([1, 2]),
      ...(initContainers.length > 0 && { initContainers }),
      containers: Array.from({ length: random.integer(1, 2) }, (_, i) => container(`c${i}`, runs())),
      volumes: [{ name: 'scratch', emptyDir: {} }],
      ...(random.chance(0.2) && { readinessGates: [{ conditionType: foreignConditionType }] }),
    },
  };
}

/** The manifest of a static pod; each version is another pod. */
export function makeStaticPod(name: string, version: number, random: Random, ledgerDir: string): Json {
  const runs = random.chance(0.3) ? [endingRun(random, [1]), forever] : [forever];
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'default', annotations: { [staticVersionAnnotation]: String(version) } },
    spec: { terminationGracePeriodSeconds: 1, containers: [makeContainer('c0', runs, random, ledgerDir)] },
  };
}

/** The version of a mirror pod; undefined for other pods. */
export function staticVersion(pod: Json): number | undefined {
  const version = pod.metadata.annotations?.[staticVersionAnnotation];
  return version === undefined ? undefined : Number(version);
}

/** How many runs of a container end on their own; the next one runs until it is stopped. Undefined: all end. */
export function endingRuns({ args }: Json): number | undefined {
  return args.at(-1) === forever ? args.length - 1 : undefined;
}

function makeContainer(name: string, runs: readonly string[], random: Random, ledgerDir: string): Json {
  const hasPreStop = random.chance(0.15);
  return {
    name,
    image: 'process',
    command: ['/bin/sh', '-c', script, 'sh'],
    args: runs,
    env: [
      { name: 'LEDGER', value: ledgerDir },
      { name: 'NAME', value: name },
      { name: 'POD_UID', valueFrom: { fieldRef: { fieldPath: 'metadata.uid' } } },
      { name: 'IGNORE_TERM', value: random.chance(0.15) ? 'yes' : '' },
    ],
    ...(hasPreStop && { lifecycle: { preStop: { exec: { command: ['/bin/sh', '-c', 'sleep 0.2'] } } } }),
  };
}

function someFailures(random: Random, atMost: number): string[] {
  return Array.from({ length: random.integer(0, atMost) }, () => endingRun(random, [1, 3]));
}

function endingRun(random: Random, exitCodes: readonly number[]): string {
  return `${random.pick(['0', '0.05', '0.3', '0.8', '1.5'])}:${random.pick(exitCodes)}`;
}
