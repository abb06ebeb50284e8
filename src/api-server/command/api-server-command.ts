import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir, constants } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import type { Clock } from '../../shared/clock.ts';
import { APIServer } from '../index.ts';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

/** ended: by a signal. failed: it could not start. usage: the arguments are wrong. */
const exitCodes = { ended: 0, failed: 1, usage: 2 } as const;

const usage = `Usage: kubelet-status-manager-apiserver [options] [-- program [arguments]]

Starts an API server in memory, for tests and for trying things out. Prints the path of a kubeconfig
on stdout when it listens, everything else on stderr, and runs until Ctrl-C or SIGTERM.

With a program, it runs the program when it listens, and ends with it. The program's environment
variable KUBECONFIG is the kubeconfig of the first --node, or else the admin's; signals are forwarded
to the program, and stdout is left to it.

Options:
  --port <number>      port on 127.0.0.1; 0, the default, takes a free one
  --kubeconfig <file>  where to write the admin's kubeconfig; default: a file that is removed at the end
  --node <name>        adds a node's own user, with a kubeconfig in <file>.<name>; may be repeated
  --no-tls             plain HTTP, to which kubectl sends no token
  --help               prints this

Exit codes: 0 after Ctrl-C or SIGTERM, 1 when it could not start, 2 for wrong arguments; with a program,
the program's exit code, 128 plus the number of the signal that ended it, or 127 if it cannot be run.
`;

/** The parts of the process that the command uses. */
export interface CommandEnvironment {
  /** Calls the listener at each signal that asks the command to end. */
  readonly onSignal: (listener: (signal: NodeJS.Signals) => void) => void;
  readonly clock: Clock;
  readonly writeOut: (text: string) => void;
  readonly writeError: (text: string) => void;
}

interface Options {
  readonly port: number;
  readonly kubeconfig: string | undefined;
  readonly nodes: readonly string[];
  readonly tls: boolean;
  readonly program: readonly [file: string, ...args: string[]] | undefined;
}

/** Runs the server until a signal arrives or the program exits; resolves with the exit code after cleanup. */
export async function runAPIServerCommand(args: readonly string[], environment: CommandEnvironment): Promise<number> {
  const { clock, onSignal, writeOut, writeError } = environment;
  let program: Program | undefined;
  let isEnding = false;
  const ended = new Promise<void>((end) => {
    onSignal((signal) => {
      isEnding = true;
      program?.kill(signal);
      end();
    });
  });
  let options: Options | 'help';
  try {
    options = parseOptions(args);
  } catch (error) {
    writeError(`${(error as Error).message}\nTry --help.\n`);
    return exitCodes.usage;
  }
  if (options === 'help') {
    writeOut(usage);
    return exitCodes.ended;
  }
  const { port, tls, nodes } = options;
  let server: APIServer | undefined;
  let directory: string | undefined;
  try {
    server = await APIServer.start({ port, tls, nodeUsers: nodes });
    directory = options.kubeconfig === undefined ? mkdtempSync(join(tmpdir(), 'api-server-')) : undefined;
    const file = options.kubeconfig ?? join(directory!, 'kubeconfig');
    writeSecret(file, server.kubeconfigYaml());
    for (const node of nodes) writeSecret(`${file}.${node}`, server.kubeconfigYaml(node));
    if (options.program === undefined) writeOut(`${file}\n`);
    writeError(`Listening at ${server.url}. End it with Ctrl-C.\n  kubectl --kubeconfig ${file} get pods -A\n`);
    if (options.program !== undefined && !isEnding) {
      const [node] = nodes;
      const KUBECONFIG = resolve(node === undefined ? file : `${file}.${node}`);
      writeError(`Running ${options.program[0]} with KUBECONFIG=${KUBECONFIG} (${node ?? 'admin'})\n`);
      program = new Program(options.program, {
        env: { KUBECONFIG },
        clock,
        onError: (message) => writeError(`${message}\n`),
      });
      return await program.exited;
    }
    await ended;
    return exitCodes.ended;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const hint = code === 'EADDRINUSE' ? '; choose another --port, or leave it out for a free one' : '';
    writeError(`${message}${hint}\n`);
    return exitCodes.failed;
  } finally {
    await server?.close();
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true });
  }
}

/** @throws Error that says which argument is wrong */
function parseOptions(args: readonly string[]): Options | 'help' {
  const separator = args.indexOf('--');
  const { values } = parseArgs({
    args: separator === -1 ? [...args] : args.slice(0, separator),
    options: {
      port: { type: 'string', default: '0' },
      kubeconfig: { type: 'string' },
      node: { type: 'string', multiple: true, default: [] },
      'no-tls': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const port = Number(values.port);
  if (!/^\d+$/.test(values.port) || port > 65_535)
    throw new Error(`--port: expected an integer between 0 and 65535, got ${JSON.stringify(values.port)}`);
  const badNode = values.node.find((node) => !/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(node));
  if (badNode !== undefined) throw new Error(`--node: expected the name of a Node, got ${JSON.stringify(badNode)}`);
  const [file, ...rest] = separator === -1 ? [] : args.slice(separator + 1);
  if (separator !== -1 && file === undefined) throw new Error('--: expected a program to run after it');
  const program = file === undefined ? undefined : ([file, ...rest] as const);
  return { port, kubeconfig: values.kubeconfig, nodes: values.node, tls: !values['no-tls'], program };
}

/** Readable by its owner only, even if the file already existed. */
function writeSecret(file: string, text: string): void {
  writeFileSync(file, text, { mode: 0o600 });
  chmodSync(file, 0o600);
}

/** npm and npx forward a Ctrl-C to this process, which has already received it from the terminal. */
const repeatMs = 150;

/** The exit code of a shell for a program that it cannot start. */
const cannotStart = 127;

/** A program that runs beside the server. */
class Program {
  /**
   * Resolves with its exit code, or as a shell does, with 128 + the signal number if a signal ended it and
   * 127 if it could not start.
   */
  readonly exited: Promise<number>;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  #lastSignal: { readonly name: NodeJS.Signals; readonly atMs: number } | undefined;

  /** @param onError receives the error message if it cannot start */
  constructor(
    command: readonly [file: string, ...args: string[]],
    { env, clock, onError }: { env: NodeJS.ProcessEnv; clock: Clock; onError: (message: string) => void },
  ) {
    const [file, ...args] = command;
    // In its own process group, so that it receives a Ctrl-C only once, forwarded by this process.
    this.#child = spawn(file, args, { stdio: 'inherit', detached: true, env: { ...process.env, ...env } });
    this.#clock = clock;
    this.exited = once(this.#child, 'exit').then(
      ([code, signal]) => (code as number | null) ?? 128 + constants.signals[signal as NodeJS.Signals],
      (error: unknown) => {
        onError(`Cannot run ${file}: ${(error as Error).message}`);
        return cannotStart;
      },
    );
  }

  /** Sends a signal to the program and its own child processes, as a terminal does. */
  kill(name: NodeJS.Signals): void {
    const atMs = this.#clock.monotonicMs();
    const last = this.#lastSignal;
    this.#lastSignal = { name, atMs };
    if (last?.name === name && atMs - last.atMs < repeatMs) return;
    const { pid, exitCode, signalCode } = this.#child;
    if (pid === undefined || exitCode !== null || signalCode !== null) return;
    try {
      process.kill(-pid, name);
    } catch {
      // ESRCH: it has just exited.
    }
  }
}
