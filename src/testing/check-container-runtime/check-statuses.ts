import { isIP } from 'node:net';
import isEqual from 'lodash/isEqual.js';
import type {
  ContainerConfig,
  PodSandboxConfig,
  RuntimeContainerStatus,
  RuntimePod,
  RuntimeSandboxStatus,
} from '../../node/index.ts';
import type { ResourceRequirementsInput } from '../../kube/objects/types.ts';
import { type RuleResults as Results, show } from '../rule-results.ts';
import type { RuntimeRule } from './runtime-rules.ts';

type RuleResults = Results<RuntimeRule>;

/** A time further away from now than this is not in milliseconds. */
const maxAgeMs = 24 * 3_600_000;
const killedExitCode = 137;

/** A container that was created and not started. */
export function checkCreated(
  results: RuleResults,
  status: RuntimeContainerStatus,
  { container, attempt, hash, sandboxID, imageRef }: ContainerConfig,
  nowMs: number,
): void {
  const { state, startedAtMs, finishedAtMs } = status;
  results.check('container-name', status.name === container.name, `The name is ${show(status.name)}`);
  const isCreated = state === 'created' && startedAtMs === undefined && finishedAtMs === undefined;
  results.check('created-state', isCreated, `After createContainer: ${show({ state, startedAtMs, finishedAtMs })}`);
  results.check('created-at', isTime(status.createdAtMs, nowMs), `createdAtMs is ${show(status.createdAtMs)}`);
  const isCounted = Number.isInteger(status.attempt ?? 0) && (status.attempt ?? 0) >= attempt;
  results.check('attempt', isCounted, `attempt is ${show(status.attempt)}, created with ${attempt}`);
  results.check('hash', status.hash === hash, `hash is ${show(status.hash)}, created with ${show(hash)}`);
  results.check('sandbox-id', status.sandboxID === sandboxID, `sandboxID is ${show(status.sandboxID)}`);
  if (container.image) results.check('image', Boolean(status.image), `image is ${show(status.image)}`);
  if (imageRef) results.check('image-id', Boolean(status.imageID), `imageID is ${show(status.imageID)}`);
}

/** A container for which `startContainer` has resolved. */
export function checkStarted(
  results: RuleResults,
  status: RuntimeContainerStatus | undefined,
  spec: ResourceRequirementsInput | undefined,
  nowMs: number,
): void {
  const { state, createdAtMs = 0, startedAtMs, resources } = status ?? {};
  results.check('running-state', state === 'running', `The state is ${show(state)}`);
  const isStarted = isTime(startedAtMs, nowMs) && startedAtMs! >= createdAtMs;
  results.check('started-at', isStarted, `startedAtMs is ${show(startedAtMs)}, createdAtMs ${createdAtMs}`);
  checkResources(results, 'resources-format', resources, spec);
}

/** Resources that the runtime reports must equal the text in the spec. */
export function checkResources(
  results: RuleResults,
  rule: 'resources-format' | 'resize-shown',
  reported: ResourceRequirementsInput | undefined,
  spec: ResourceRequirementsInput | undefined,
): void {
  for (const kind of ['limits', 'requests'] as const) {
    for (const [name, quantity] of Object.entries(spec?.[kind] ?? {})) {
      const shown = reported?.[kind]?.[name];
      results.check(
        rule,
        shown === undefined || shown === quantity,
        `${kind}.${name} is ${show(shown)} instead of ${show(quantity)}`,
      );
    }
  }
}

/** A container that has ended; `exitCode` if it is known. */
export function checkExited(
  results: RuleResults,
  status: RuntimeContainerStatus | undefined,
  exitCode: number | undefined,
  nowMs: number,
): void {
  if (status?.state !== 'exited') return;
  const { exitCode: code, reason, startedAtMs = 0, finishedAtMs } = status;
  const isExitCode = exitCode === undefined ? Number.isInteger(code) : code === exitCode;
  results.check(
    'exit-code',
    isExitCode,
    `exitCode is ${show(code)}${exitCode === undefined ? '' : `, not ${exitCode}`}`,
  );
  const isReason = Boolean(reason) && (reason === 'Completed') === (code === 0);
  results.check('exit-reason', isReason, `reason is ${show(reason)} for exit code ${code}`);
  const isFinished = isTime(finishedAtMs, nowMs) && finishedAtMs! >= startedAtMs - 1000;
  results.check('exit-times', isFinished, `finishedAtMs is ${show(finishedAtMs)}, startedAtMs ${startedAtMs}`);
}

/** A container that `stopContainer` had to kill. */
export function checkKilled(results: RuleResults, status: RuntimeContainerStatus | undefined, elapsedMs: number): void {
  const { state, exitCode } = status ?? {};
  const isKilled = state === 'exited' && exitCode === killedExitCode && elapsedMs >= 900;
  results.check('stop-kills', isKilled, `After ${Math.round(elapsedMs)} ms of 1 s: ${show({ state, exitCode })}`);
}

/** A container that ends when it is asked to. */
export function checkAsked(results: RuleResults, status: RuntimeContainerStatus | undefined): void {
  const { state, exitCode } = status ?? {};
  const isEnded = state === 'exited' && exitCode !== killedExitCode;
  results.check('stop-asks-first', isEnded, `After stopContainer: ${show({ state, exitCode })}`);
}

/** The container that could not be started, after `startContainer` has rejected. */
export function checkStartFailure(results: RuleResults, status: RuntimeContainerStatus | undefined): void {
  const { state, exitCode, startedAtMs } = status ?? {};
  const isEnded = state === 'created' || (state === 'exited' && exitCode !== 0);
  results.check('start-failure', isEnded, `After startContainer has rejected: ${show({ state, exitCode })}`);
  if (state === 'exited')
    results.check('start-failure-times', startedAtMs === 0, `startedAtMs is ${show(startedAtMs)}`);
}

/** The sandbox that `runPodSandbox` has created. */
export function checkSandbox(
  results: RuleResults,
  sandbox: RuntimeSandboxStatus | undefined,
  { pod, attempt }: PodSandboxConfig,
  nowMs: number,
): void {
  const isShown = sandbox?.ready === true && (sandbox.attempt ?? 0) === attempt && isTime(sandbox.createdAtMs, nowMs);
  results.check('sandbox-status', isShown, `After runPodSandbox: ${show(sandbox)}`);
  if (pod.spec?.hostNetwork === true) return;
  const { ip = '', additionalIPs = [] } = sandbox?.network ?? {};
  results.check('pod-address', [ip, ...additionalIPs].every(isAddress), `network is ${show(sandbox?.network)}`);
}

/** A pod in `listPods`, `getPod` and the spec. */
export function checkListed(results: RuleResults, pods: readonly RuntimePod[], pod: RuntimePod | undefined): void {
  const listed = pods.filter(({ uid }) => uid === pod?.uid);
  results.check('listed-once', listed.length === 1, `listPods shows the pod ${listed.length} times`);
  const ofPod = (one: RuntimePod | undefined): unknown => [
    one?.name,
    one?.namespace,
    one?.containers.map(({ id }) => id).toSorted(),
  ];
  results.check('listed-once', isEqual(ofPod(listed[0]), ofPod(pod)), `listPods shows ${show(ofPod(listed[0]))}`);
  for (const ip of pod?.ips ?? []) results.check('pod-address', isAddress(ip), `ips has ${show(ip)}`);
}

/** A pod before and after a restart of the runtime. */
export function checkSurvived(
  results: RuleResults,
  before: RuntimePod | undefined,
  after: RuntimePod | undefined,
): void {
  for (const was of before?.containers ?? []) {
    const is = after?.containers.find(({ id }) => id === was.id);
    const fields = Object.keys(was) as (keyof RuntimeContainerStatus)[];
    const changed = fields.find((field) => !isEqual(is?.[field], was[field]));
    const seen = changed && `${changed} was ${show(was[changed])} and is ${show(is?.[changed])}`;
    results.check('survives-restart', changed === undefined, is === undefined ? `${was.id} is gone` : (seen ?? ''));
  }
}

function isTime(ms: number | undefined, nowMs: number): boolean {
  return ms !== undefined && Math.abs(nowMs - ms) < maxAgeMs;
}

function isAddress(ip: string): boolean {
  return isIP(ip) !== 0;
}
