import type { CallOptions, ContainerRuntime } from './container-runtime.ts';

/** Which streams of a command the client wants. Source: cri-streaming `remotecommand.Options`. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** False with `tty`: a terminal has one output. */
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** Where the log of a container is. */
export interface ContainerLog {
  /** The log file, in the CRI's format. */
  readonly path: string;
  /** True if the container may still write to it. */
  readonly isRunning: boolean;
}

/**
 * What `serveKubeletAPI` needs of a runtime for `kubectl logs`, `exec`, `attach` and `port-forward`, and for statistics. A
 * request whose method is missing gets status 501; statistics are then without pods. Source: kubelet `StreamingRuntime`.
 */
export interface StreamingRuntime extends Pick<ContainerRuntime, 'imageFsStats' | 'listPodStats'> {
  /** The log of a container; undefined if the runtime does not know the container. Source: CRI `ContainerStatus`. */
  getContainerLog?(containerID: string, options?: CallOptions): Promise<ContainerLog | undefined>;
  /** The URL of the runtime's streaming server that runs the command. Source: CRI `Exec`. */
  getExec?(
    containerID: string,
    command: readonly string[],
    streams: StreamOptions,
    options?: CallOptions,
  ): Promise<string>;
  /** The URL of the runtime's streaming server for the container's main process. Source: CRI `Attach`. */
  getAttach?(containerID: string, streams: StreamOptions, options?: CallOptions): Promise<string>;
  /**
   * The URL of the runtime's streaming server for ports of the pod; the ports are empty if the client names them later.
   * Source: CRI `PortForward`.
   */
  getPortForward?(podUID: string, ports: readonly number[], options?: CallOptions): Promise<string>;
}
