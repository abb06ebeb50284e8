import type { RuntimeSnapshot } from './runtime-snapshot.ts';

/** What containerd cannot remove any more, although the agent has asked for it, as its log shows. */
export class ContainerdLog {
  /**
   * Containers whose start was cancelled because the agent was killed, just when their task had been created. containerd
   * forgets that task, which then keeps it from removing the container and its sandbox (containerd's issue 11037).
   */
  readonly #stuckContainers: ReadonlySet<string>;
  readonly #stuckSandboxes: ReadonlySet<string>;
  /** Those whose ID RunPodSandbox has returned. */
  readonly #startedSandboxes: ReadonlySet<string>;
  /** Those that were being stopped when containerd was killed. */
  readonly #interruptedStops = new Set<string>();

  /** @param log of containerd 1.6, with all its runs */
  constructor(log: string) {
    const idsIn = (pattern: RegExp): Set<string> => new Set(Array.from(log.matchAll(pattern), ([, id]) => id!));
    this.#startedSandboxes = idsIn(/ returns sandbox id \\"(\w+)/g);
    this.#stuckContainers = idsIn(
      /StartContainer for \\"(\w+)\\" failed" error="failed to create containerd task: failed to get task pid: context canceled/g,
    );
    const creations = log.matchAll(/CreateContainer within sandbox \\"(\w+)\\" .* returns container id \\"(\w+)/g);
    this.#stuckSandboxes = new Set(
      Array.from(creations).flatMap(([, sandbox, container]) =>
        this.#stuckContainers.has(container!) ? [sandbox!] : [],
      ),
    );
    // Each run but the last was killed.
    for (const run of log.split('msg="starting containerd"').slice(0, -1)) {
      const stops = new Map(
        Array.from(run.matchAll(/StopPodSandbox for \\"(\w+)\\"(?: (returns|failed))?/g), ([, id, end]) => [id!, end]),
      );
      for (const [id, end] of stops) if (end === undefined) this.#interruptedStops.add(id);
    }
  }

  /**
   * Whether containerd may leave the shim of a sandbox that is gone. It does so when it is killed, or a call is cancelled,
   * before the sandbox's task is created or after it is deleted: until version 1.7, nothing ends a shim without a task (its
   * issue 6860). The agent either has never got the ID, or has removed the sandbox, which succeeds.
   */
  mayLeaveShim(sandboxID: string): boolean {
    return (
      !this.#startedSandboxes.has(sandboxID) ||
      this.#interruptedStops.has(sandboxID) ||
      this.#stuckSandboxes.has(sandboxID)
    );
  }

  /** What the agent can remove. */
  withoutStuck({ sandboxes, containers }: RuntimeSnapshot): RuntimeSnapshot {
    return {
      sandboxes: sandboxes.filter(({ id, ready }) => ready || !this.#stuckSandboxes.has(id)),
      containers: containers.filter(({ id, state }) => state !== 'exited' || !this.#stuckContainers.has(id)),
    };
  }
}
