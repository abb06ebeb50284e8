import type { ProviderPodReference } from '../../../src/virtual-nodes/index.ts';
import type { Random } from '../../chaos/random.ts';
import type { SimulatedProcess } from '../simulated-process.ts';
import type { World } from '../world.ts';
import type { CloudPods } from './cloud-pods.ts';

export const probeTypes = ['startup', 'liveness', 'readiness'] as const;
export type ProbeType = (typeof probeTypes)[number];

/** How a container answers the probes of one type for a while. `breaks`: the command cannot be run. */
type Health = 'passes' | 'fails' | 'late' | 'hangs' | 'breaks';

/** One command of a probe. */
export interface ProbeCall {
  readonly process: SimulatedProcess;
  readonly pod: ProviderPodReference;
  readonly container: string;
  readonly probeType: ProbeType;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What the process makes of it. `dropped`: nobody waited for the answer any more. */
export type ProbeOutcome = 'success' | 'failure' | 'unknown' | 'dropped';

/** A health, and until when. */
interface Phase {
  readonly health: Health;
  readonly untilMs: number;
}

interface Answer {
  /** Infinity: none. */
  readonly afterMs: number;
  readonly exitCode: number;
}

const healths = { passes: 6, fails: 3, late: 2, hangs: 1, breaks: 1 } as const satisfies Record<Health, number>;

const timeoutToleranceMs = 10;

/** The command of a probe in the spec of a pod; `timeoutSeconds` is that of the probe. */
export function probeCommand(probeType: ProbeType, timeoutSeconds: number): string[] {
  return ['probe', probeType, String(timeoutSeconds)];
}

/** The commands that probes run in the containers of the cloud: they succeed, fail, hang, are late, and recover. */
export class SimulatedProbes {
  /** A probe is sent. The function that it returns is called once with what becomes of it. */
  onProbe: (call: ProbeCall) => (outcome: ProbeOutcome) => void = () => () => {};
  readonly #world: World;
  readonly #cloudPods: CloudPods;
  readonly #heedsSignals: boolean;
  readonly #isCutOff: (process: SimulatedProcess) => boolean;
  readonly #random: Random;
  /** By run of a container and type of probe. */
  readonly #healths = new Map<string, { readonly random: Random; phase: Phase }>();
  /** In the same way: what a quiet cloud answers instead of a success. */
  readonly #unhealthy = new Map<string, 'fails' | 'hangs'>();

  constructor(
    world: World,
    cloudPods: CloudPods,
    kind: { readonly heedsSignals: boolean },
    isCutOff: (process: SimulatedProcess) => boolean,
  ) {
    this.#world = world;
    this.#cloudPods = cloudPods;
    this.#heedsSignals = kind.heedsSignals;
    this.#isCutOff = isCutOff;
    this.#random = world.random.fork('probes');
  }

  /** From now on, in a quiet cloud, the probes of this run of a container do not succeed; undefined: they do. */
  setUnhealthy(run: string, probeType: ProbeType, health: 'fails' | 'hangs' | undefined): void {
    const key = `${run} ${probeType}`;
    if (health === undefined) this.#unhealthy.delete(key);
    else this.#unhealthy.set(key, health);
  }

  isUnhealthy(run: string, probeType: ProbeType): boolean {
    return this.#unhealthy.has(`${run} ${probeType}`);
  }

  /** Resolves with the exit code. */
  run(call: ProbeCall): Promise<number> {
    const { process, pod, container, probeType, signal } = call;
    if (!process.isAlive) return new Promise(() => {});
    const world = this.#world;
    const random = this.#random;
    const timings = { toMs: 1 + random.next() * 30, backMs: 1 + random.next() * 30, share: random.next() };
    const isRefused = random.chance(0.5);
    const exitCode = random.chance(0.7) ? 0 : 1;
    const sentMs = process.clock.monotonicMs();
    const tell = this.onProbe(call);
    world.note(process.name, '⇒ probe', probeType, pod.name, container);
    return new Promise((resolve, reject) => {
      let isSettled = false;
      const settle = (outcome: ProbeOutcome, end: () => void, atMs = process.clock.monotonicMs()): void => {
        if (isSettled) return end();
        isSettled = true;
        signal.removeEventListener('abort', onAbort);
        world.note(process.name, '⇐ probe', probeType, pod.name, container, outcome);
        world.count(`${probeType} probe: ${outcome}`);
        if (atMs - sentMs > call.timeoutMs + timeoutToleranceMs && !signal.aborted)
          world.violate('a probe ends at its time-out', `${probeType} of ${pod.uid} ${container} by ${process.name}`);
        tell(outcome);
        end();
      };
      const onAbort = (): void => {
        const isLate = process.clock.monotonicMs() - sentMs >= call.timeoutMs;
        settle(isLate ? 'failure' : 'dropped', () => {
          if (this.#heedsSignals) reject(signal.reason as Error);
        });
      };
      signal.addEventListener('abort', onAbort);
      const answer = (outcome: ProbeOutcome, afterMs: number, end: () => void): void =>
        void process.receive(afterMs, (arrivedMs) => {
          if (!this.#isCutOff(process)) settle(outcome, end, arrivedMs);
        });
      const fail = (why: string): void =>
        answer('unknown', timings.backMs, () => reject(new Error(`simulated: ${why}`)));
      if (this.#isCutOff(process)) {
        if (isRefused)
          process.receive(timings.backMs, () => settle('unknown', () => reject(new Error('simulated: refused'))));
        return;
      }
      world.at(timings.toMs, () => {
        const run = this.#cloudPods.runOf(pod.uid, container);
        if (run === undefined) return fail('the container does not run');
        const health = this.#healthOf(run, probeType);
        if (health === 'breaks') return fail('the command cannot be run');
        const { afterMs, exitCode: code } = answerOf(health, call.timeoutMs, timings.share, exitCode);
        if (afterMs === Number.POSITIVE_INFINITY) return;
        answer(code === 0 ? 'success' : 'failure', timings.backMs + afterMs, () => resolve(code));
      });
    });
  }

  #healthOf(run: string, probeType: ProbeType): Health {
    const key = `${run} ${probeType}`;
    if (this.#cloudPods.isQuiet) return this.#unhealthy.get(key) ?? 'passes';
    const known = this.#healths.get(key) ?? {
      random: this.#random.fork(key),
      phase: { health: 'passes', untilMs: Number.NEGATIVE_INFINITY },
    };
    this.#healths.set(key, known);
    const { nowMs } = this.#world;
    while (known.phase.untilMs < nowMs) {
      const health = known.random.weighted(healths);
      const untilMs = Math.max(known.phase.untilMs, nowMs - 1) + known.random.integer(2_000, 12_000);
      const happens = health === 'passes' || this.#world.happens(`probe: ${health}`);
      known.phase = { health: happens ? health : 'passes', untilMs };
    }
    return known.phase.health;
  }
}

function answerOf(health: Health, timeoutMs: number, share: number, exitCode: number): Answer {
  switch (health) {
    case 'late':
      return { afterMs: timeoutMs * (0.3 + share), exitCode };
    case 'hangs':
      // Long after the time-out, perhaps after the end of the run, of the pod or of the ownership.
      return { afterMs: share < 0.3 ? Number.POSITIVE_INFINITY : timeoutMs + share * 60_000, exitCode };
    default:
      return { afterMs: 0, exitCode: health === 'fails' ? 1 : 0 };
  }
}
