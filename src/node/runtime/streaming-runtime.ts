import type { Duplex, Readable, Writable } from 'node:stream';
import type { CallOptions } from './container-runtime.ts';

/** Which streams of a command the client wants. Source: cri-streaming `remotecommand.Options`. */
export interface StreamOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  /** False with `tty`: a terminal has one output. */
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** The size of a terminal, in characters. */
export interface TerminalSize {
  readonly width: number;
  readonly height: number;
}

/** The streams of a command; those that the client does not want are absent. */
export interface ContainerIO {
  /** True if the command is to have a terminal, whose output is `stdout`. */
  readonly tty: boolean;
  /** Ends when the client closes it or disconnects. */
  readonly stdin?: Readable | undefined;
  readonly stdout?: Writable | undefined;
  readonly stderr?: Writable | undefined;
  /** Calls `listener` when the client has resized its terminal, and once at the beginning. */
  onResize(listener: (size: TerminalSize) => void): void;
}

/** Which part of a container log is wanted. Source: cri-client `LogOptions`. */
export interface ContainerLogOptions {
  /** Lines from the end of the log; default: all. With `follow`, only the lines that are there already count. */
  readonly tailLines?: number | undefined;
  /** Maximum number of bytes to write. Default: no limit. */
  readonly limitBytes?: number | undefined;
  /** Skips lines before this time, in milliseconds since the epoch. */
  readonly sinceMs?: number | undefined;
  /** Reads on until the container has ended. */
  readonly follow?: boolean | undefined;
  /** Puts the time in front of each line. */
  readonly timestamps?: boolean | undefined;
  /** Only this stream; default: both. */
  readonly stream?: 'stdout' | 'stderr' | undefined;
}

/** Where the log of a container is. */
export interface ContainerLog {
  /** The log file, in the CRI's format. */
  readonly path: string;
  /** True if the container may still write to it. */
  readonly isRunning: boolean;
}

/**
 * What `serveKubeletAPI` needs of a runtime for `kubectl logs`, `exec`, `attach` and `port-forward`. A request whose
 * method is missing gets status 501. Source: kubelet `StreamingRuntime`.
 */
export interface StreamingRuntime {
  /** The log of a container; undefined if the runtime does not know the container. Source: CRI `ContainerStatus`. */
  getContainerLog?(containerID: string, options?: CallOptions): Promise<ContainerLog | undefined>;
  /**
   * The text of the log, for a runtime without log files; used in place of `getContainerLog`. With `previous`, that of the
   * run before this one. `signal` is aborted when the client disconnects. At most `limitBytes` are read.
   */
  streamContainerLog?(
    containerID: string,
    log: ContainerLogOptions & { readonly previous: boolean },
    options?: CallOptions,
  ): Promise<AsyncIterable<Uint8Array>>;
  /** The URL of the runtime's streaming server that runs the command. Source: CRI `Exec`. */
  getExec?(
    containerID: string,
    command: readonly string[],
    streams: StreamOptions,
    options?: CallOptions,
  ): Promise<string>;
  /**
   * Runs a command with the streams of the client, for a runtime without a streaming server; not used if there is `getExec`.
   * Resolves with the exit code when all output is written. `signal` is aborted when the client disconnects.
   */
  exec?(containerID: string, command: readonly string[], io: ContainerIO, options?: CallOptions): Promise<number>;
  /**
   * Connects the client to the main process, for a runtime without a streaming server. Resolves when the process has
   * ended or `signal` is aborted.
   */
  attach?(containerID: string, io: ContainerIO, options?: CallOptions): Promise<void>;
  /** The URL of the runtime's streaming server for the container's main process. Source: CRI `Attach`. */
  getAttach?(containerID: string, streams: StreamOptions, options?: CallOptions): Promise<string>;
  /**
   * The URL of the runtime's streaming server for ports of the pod; the ports are empty if the client names them later.
   * Source: CRI `PortForward`.
   */
  getPortForward?(podUID: string, ports: readonly number[], options?: CallOptions): Promise<string>;
  /**
   * Connects `stream` with a port of the pod, for a runtime without a streaming server; not used if there is
   * `getPortForward`. Called for each connection of the client. Resolves when the connection has ended; if it rejects, the
   * client shows why. `stream` is destroyed, and `signal` aborted, when the client has closed it.
   */
  portForward?(podUID: string, port: number, stream: Duplex, options?: CallOptions): Promise<void>;
}
