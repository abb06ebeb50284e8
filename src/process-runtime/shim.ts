/**
 * Runs one container, and outlives the agent: `node shim.js DIRECTORY`, with the directory of the container. It starts the
 * process in its own process group, writes its output to the log, and records how it ended before it exits itself. Until
 * then, it listens on a socket, on which agents send the names of signals for the process group, one per line; when the
 * socket closes, they know that the container has ended. A connection on which an agent first sends the number of a standard
 * stream becomes that stream.
 *
 * It must not import a package or the index of node/, because each container would load all of it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  closeSync,
  constants as fileFlags,
  existsSync,
  fstatSync,
  openSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { constants } from 'node:os';
import { createInterface } from 'node:readline';
import { sleep, systemClock } from '../shared/clock.ts';
import type { LogFunction } from '../shared/logger.ts';
import { timeFromEpochMs } from '../shared/time.ts';
import { type ContainerConfigFile, type ContainerExit, ContainerFiles } from './container-files.ts';
import { CRILog } from './cri-log.ts';
import { ProcessGroupGuard, signalProcessGroup } from './process-group.ts';
import type { StandardStream } from './shim-connection.ts';

/** How long to wait for output of processes that have left the process group and keep the pipe open. */
const maxOutputDelayMs = 500;
const writeRetryMs = 1000;
/** A client that is further behind with its output is disconnected, so that it cannot stall the container. */
const maxUnreadBytes = 16 * 1024 * 1024;
/** How long to wait until clients have read the rest of the output. */
const maxUnreadDelayMs = 5000;
const maxMessageBytes = 4096;
const orphanCheckMs = 10_000;
/** containerd: `StartError`. */
const startErrorExitCode = 128;
/** The line that agents get when the process has been started. */
const startedLine = 'started\n';

const pause = (ms: number): Promise<void> => sleep(systemClock, ms, new AbortController().signal);

/** Its file may be on a full disk. */
function writeError(text: string): void {
  try {
    writeSync(2, text);
  } catch {}
}

/** Writes JSON to `shim.log`, without pino, which each container would have to load. */
const log: LogFunction = (fields, message) =>
  writeError(`${JSON.stringify({ time: timeFromEpochMs(systemClock.now()), ...fields, msg: message })}\n`);

/** Tells the agent that waits for the start; an empty message means success. The agent may be dead by now. */
function reportStart(message: string): void {
  try {
    writeSync(1, message);
  } catch {}
  closeSync(1);
  openSync('/dev/null', 'w'); // takes the number 1, so that no file of the container gets it
}

/**
 * Retries, because a full disk must not lose how the container ended. The environment is no longer needed and makes room:
 * that this pod ends may be what the disk waits for.
 */
async function recordExit(files: ContainerFiles, exit: ContainerExit): Promise<void> {
  for (let shown = exit; files.exists(); await pause(writeRetryMs)) {
    try {
      return files.writeExit(shown);
    } catch (error) {
      const reason = `cannot record the exit: ${String(error)}\n`;
      writeError(reason);
      shown = { ...exit, message: reason };
      try {
        files.removeEnvironment();
        return files.writeExit(shown);
      } catch {} // tried again
    }
  }
}

function terminationMessage(config: ContainerConfigFile, exitCode: number, log: CRILog): string {
  const message = endOfFile(config.terminationMessageFile);
  return message === '' && exitCode !== 0 && config.fallsBackToLogs ? log.tail : message;
}

/** The container may have replaced the file by anything, such as a FIFO or a device. Source: kubelet `ReadAtMost`. */
function endOfFile(path: string): string {
  let fd: number | undefined;
  try {
    fd = openSync(path, fileFlags.O_RDONLY | fileFlags.O_NONBLOCK | fileFlags.O_NOFOLLOW);
    const stats = fstatSync(fd);
    if (!stats.isFile()) return '';
    const end = Buffer.alloc(Math.min(stats.size, maxMessageBytes));
    return end.toString('utf8', 0, readSync(fd, end, 0, end.length, stats.size - end.length));
  } catch {
    return ''; // the container has not written one
  } finally {
    if (fd !== undefined) closeSync(fd);
  }
}

/** With the message of container runtimes, if they have one. */
function startErrorMessage(
  { code, message }: NodeJS.ErrnoException,
  { file, workingDir }: ContainerConfigFile,
): string {
  // Node.js would quote the argument or variable with a null byte.
  if (code === 'ERR_INVALID_ARG_VALUE') return `exec: "${file}": invalid argument`;
  if (code !== 'ENOENT') return `exec: "${file}": ${message}`;
  if (!existsSync(workingDir)) return `chdir to cwd ("${workingDir}"): no such file or directory`;
  return `exec: "${file}": executable file not found in $PATH`;
}

class Shim {
  readonly #files: ContainerFiles;
  readonly #config: ContainerConfigFile;
  readonly #guard = new ProcessGroupGuard('the container', {
    clock: systemClock,
    logger: { info: log, warn: log, error: log },
  });
  readonly #agents = new Set<Socket>();
  readonly #streams = new Map<Socket, StandardStream>();
  #child: ChildProcess | undefined;

  constructor(directory: string) {
    this.#files = new ContainerFiles(directory);
    const config = this.#files.readConfig();
    if (config === undefined) throw new Error(`${directory} is not the directory of a container`);
    this.#config = config;
  }

  async run(): Promise<void> {
    const server = createServer((agent) => this.#serve(agent)).listen(this.#config.socket);
    await once(server, 'listening');
    if (this.#files.takeStartRequest()) await this.#runContainer();
    rmSync(this.#config.socket, { force: true });
    // Agents need not wait until Node.js has ended.
    for (const agent of this.#agents) agent.destroy();
    await this.#endStreams();
  }

  async #runContainer(): Promise<void> {
    const { file, args, workingDir, logFile, stdin } = this.#config;
    const env = this.#files.readEnvironment();
    const log = new CRILog(logFile);
    let child: ChildProcess;
    try {
      child = spawn(file, args, {
        ...{ cwd: workingDir, env, detached: true },
        stdio: [stdin ? 'pipe' : 'ignore', 'pipe', 'pipe'],
      });
      if (child.pid === undefined) throw (await once(child, 'error'))[0];
    } catch (error) {
      return this.#recordStartError(error as NodeJS.ErrnoException);
    }
    const pid = child.pid;
    this.#guard.add(pid);
    child.stdin?.on('error', () => {}); // the process need not read it
    for (const [stream, number] of [
      ['stdout', 1],
      ['stderr', 2],
    ] as const) {
      child[stream]!.on('data', (chunk: Buffer) => {
        log.write(stream, chunk);
        this.#write(number, chunk);
      });
    }
    const exited = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
    const outputEnded = once(child, 'close');

    this.#files.writeStart({ pid, startedAtMs: systemClock.now() });
    this.#child = child;
    this.#killWhenDeleted(pid);
    for (const agent of this.#agents) agent.write(startedLine);
    reportStart('');

    const [code, signal] = await exited;
    const finishedAtMs = systemClock.now();
    signalProcessGroup(pid, 'SIGKILL'); // child processes that are still running
    this.#guard.delete(pid);
    await Promise.race([outputEnded, pause(maxOutputDelayMs)]);
    log.close();
    const exitCode = code ?? 128 + constants.signals[signal!];
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    const message = terminationMessage(this.#config, exitCode, log);
    await recordExit(this.#files, { exitCode, reason, finishedAtMs, message });
  }

  /** Without its files, no agent would find the container again, and would start it a second time. */
  #killWhenDeleted(pid: number): void {
    systemClock.afterFunc(orphanCheckMs, () => {
      if (this.#hasExited) return;
      if (!this.#files.exists()) signalProcessGroup(pid, 'SIGKILL');
      this.#killWhenDeleted(pid);
    });
  }

  get #hasExited(): boolean {
    const { exitCode, signalCode } = this.#child ?? {};
    return exitCode !== null || signalCode !== null;
  }

  async #recordStartError(error: NodeJS.ErrnoException): Promise<void> {
    const message = startErrorMessage(error, this.#config);
    const exit = { exitCode: startErrorExitCode, reason: 'StartError', finishedAtMs: systemClock.now(), message };
    await recordExit(this.#files, exit);
    reportStart(message);
  }

  #serve(agent: Socket): void {
    this.#agents.add(agent);
    agent.on('error', () => {}); // the agent was killed: `close` follows
    agent.on('close', () => this.#agents.delete(agent));
    if (this.#child !== undefined) agent.write(startedLine);
    agent.once('readable', () => {
      const first = agent.read(1) as Buffer | null;
      if (first === null) return;
      const number = Number(first.toString());
      if (number === 0 || number === 1 || number === 2) return this.#serveStream(agent, number);
      agent.unshift(first);
      this.#serveSignals(agent);
    });
  }

  #serveSignals(agent: Socket): void {
    const lines = createInterface({ input: agent });
    lines.on('error', () => {}); // repeats what the connection emits
    lines.on('line', (signal) => {
      if (!this.#hasExited) signalProcessGroup(this.#child!.pid!, signal as NodeJS.Signals);
    });
  }

  #serveStream(agent: Socket, number: StandardStream): void {
    this.#agents.delete(agent);
    this.#streams.set(agent, number);
    agent.on('close', () => this.#streams.delete(agent));
    if (number !== 0) return void agent.resume();
    const stdin = this.#child?.stdin;
    if (!stdin?.writable) return void agent.destroy();
    const disconnect = (): void => void agent.destroy();
    stdin.once('close', disconnect);
    agent.once('close', () => {
      stdin.off('close', disconnect);
      if (this.#config.stdinOnce) stdin.end();
    });
    agent.pipe(stdin, { end: false });
  }

  #write(number: StandardStream, chunk: Buffer): void {
    for (const [agent, stream] of this.#streams) {
      if (stream !== number) continue;
      agent.write(chunk);
      if (agent.writableLength > maxUnreadBytes) agent.destroy();
    }
  }

  /** Resolves when the clients have read all output. */
  async #endStreams(): Promise<void> {
    const ended = [...this.#streams].map(([agent, number]) => {
      if (number === 0) agent.destroy();
      else agent.end();
      return new Promise<void>((resolve) => agent.once('close', () => resolve()));
    });
    await Promise.race([Promise.all(ended), pause(maxUnreadDelayMs)]);
  }
}

// Only the agent ends a container, so that what stops the agent does not stop the shim.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM'] as const) process.on(signal, () => {});
try {
  await new Shim(process.argv[2]!).run();
} catch (error) {
  reportStart(`the shim failed: ${String(error)}`);
  throw error;
}
process.exit();
