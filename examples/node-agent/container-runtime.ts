import type { Container, Pod } from 'kubelet-status-manager';

/** How a container ended. */
export interface ContainerExit {
  readonly exitCode: number;
  /** The value of `terminated.reason`. */
  readonly reason: string;
  readonly message?: string;
}

/** A container that was started. */
export interface RunningContainer {
  /** Its `containerID`, with the runtime's scheme: `process://4711`. */
  readonly id: string;
  /** Resolves once it has ended; never rejects. */
  readonly exited: Promise<ContainerExit>;
  /** Requests its termination (SIGTERM) or forces it (SIGKILL). Does nothing when it has ended. */
  signal(signal: 'SIGTERM' | 'SIGKILL'): void;
}

/** Runs containers: processes in this agent, something else in yours, a fake in the tests. */
export interface ContainerRuntime {
  /**
   * Resolves when the container runs. Rejects with a ContainerConfigError when its spec can never be
   * started, and with any other error when only this start failed.
   */
  start(pod: Pod, container: Container, restartCount: number): Promise<RunningContainer>;
}
