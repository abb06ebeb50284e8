import type { Container, Pod } from 'kubelet-status-manager';
import type {
  ContainerExit,
  ContainerRuntime,
  RunningContainer,
} from '../../../examples/node-agent/container-runtime.ts';

interface FakeContainer {
  readonly name: string;
  readonly restartCount: number;
  readonly end: (exit: ContainerExit) => void;
}

/** Runs nothing: records all requests, and lets a test end the containers. */
export class FakeRuntime implements ContainerRuntime {
  /** `start web#0`, `SIGTERM web`, `SIGKILL web`, `exit web`, in order. */
  readonly actions: string[] = [];
  /** The error of the next start of a container, by its name. */
  readonly startErrors = new Map<string, Error>();
  /** Starts wait for this promise. */
  startGate: Promise<void> | undefined;
  readonly #running = new Map<string, FakeContainer>();
  #started = 0;

  async start(_pod: Pod, { name }: Container, restartCount: number): Promise<RunningContainer> {
    this.actions.push(`start ${name}#${restartCount}`);
    await this.startGate;
    const error = this.startErrors.get(name);
    if (error) {
      this.startErrors.delete(name);
      throw error;
    }
    let end: (exit: ContainerExit) => void = () => {};
    const exited = new Promise<ContainerExit>((resolve) => {
      end = resolve;
    });
    this.#running.set(name, { name, restartCount, end });
    return { id: `fake://${++this.#started}`, exited, signal: (signal) => void this.actions.push(`${signal} ${name}`) };
  }

  /** Ends a running container. */
  exit(name: string, exitCode: number): void {
    const container = this.#running.get(name);
    if (!container) throw new Error(`${name} is not running`);
    this.#running.delete(name);
    this.actions.push(`exit ${name}`);
    container.end({ exitCode, reason: exitCode === 0 ? 'Completed' : 'Error' });
  }

  /** The actions since the last call. */
  takeActions(): string[] {
    return this.actions.splice(0);
  }
}
