import type { Violation } from '../invariants.ts';
import type { CloudCall } from './cloud.ts';

/** From when to when a replica was stopped with SIGSTOP. */
export interface Pause {
  readonly replica: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A time in which every node must be in use. */
export interface Window {
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** A process that was stopped between the check and the request sends it as soon as it continues. */
const sentOnContinueMs = 100;

/** A call with an old epoch is one that the cloud would refuse; it may only come from a process that was stopped. */
export function checkEpochs(calls: readonly CloudCall[], pauses: readonly Pause[]): Violation[] {
  const violations: Violation[] = [];
  const newest = new Map<string, CloudCall>();
  for (const call of calls) {
    const last = newest.get(call.node);
    const isRefused = last !== undefined && call.epoch < last.epoch;
    if (!isRefused) newest.set(call.node, call);
    if (last === undefined || last.replica === call.replica) continue;
    const details = `${call.node}: ${call.replica} with epoch ${call.epoch} after ${last.replica} with ${last.epoch}`;
    if (call.epoch === last.epoch) violations.push({ invariant: 'one owner for each epoch', details });
    else if (isRefused && !isOnContinue(call, pauses))
      violations.push({ invariant: 'no call with an old epoch', details });
    else if (!isRefused && (last.endMs ?? Infinity) > call.startMs)
      violations.push({ invariant: 'calls of an owner have ended before the next one begins', details });
  }
  return violations;
}

function isOnContinue({ replica, startMs }: CloudCall, pauses: readonly Pause[]): boolean {
  return pauses.some((pause) => {
    const sinceMs = startMs - pause.toMs;
    return pause.replica === replica && sinceMs >= 0 && sinceMs < sentOnContinueMs;
  });
}

/** In each window, each node is called at least every `maxGapMs`. */
export function checkUse(
  calls: readonly CloudCall[],
  nodeNames: readonly string[],
  windows: readonly Window[],
  maxGapMs: number,
): Violation[] {
  const callsOf = new Map(nodeNames.map((name) => [name, calls.filter(({ node }) => node === name)]));
  return windows.flatMap(({ name, fromMs, toMs }) =>
    nodeNames.flatMap((node) => {
      const { gapMs, atMs } = longestGap(callsOf.get(node)!, fromMs, toMs);
      if (gapMs <= maxGapMs) return [];
      const details = `${name}: ${node} had none for ${Math.round(gapMs)} ms, ${Math.round(atMs - fromMs)} ms after the beginning`;
      return [{ invariant: 'every node has an owner', details }];
    }),
  );
}

/** The longest time without a call in the window, and when it began. */
export function longestGap(
  calls: readonly CloudCall[],
  fromMs: number,
  toMs: number,
): { readonly gapMs: number; readonly atMs: number } {
  const times = calls.map(({ startMs }) => startMs).filter((ms) => ms > fromMs && ms < toMs);
  let longest = { gapMs: 0, atMs: fromMs };
  let lastMs = fromMs;
  for (const ms of [...times, toMs]) {
    if (ms - lastMs > longest.gapMs) longest = { gapMs: ms - lastMs, atMs: lastMs };
    lastMs = ms;
  }
  return longest;
}
