import { mkdirSync } from 'node:fs';
import { constants } from 'node:os';
import { untilAborted } from '../../../src/shared/abort.ts';
import { type AgentName, type AgentOptions, createAgent } from './agents.ts';
import { Cluster } from './cluster.ts';
import { Machine } from './machine.ts';
import { NodeUnderTest } from './node-under-test.ts';

/** A machine whose node is run by one agent after the other. */
export class Session {
  readonly #machine: Machine;
  readonly #cluster: Cluster;
  #node: NodeUnderTest | undefined;
  #stopped: Promise<void> | undefined;

  /** @param signal ends the start; once it is aborted, the session starts nothing any more */
  static async start(folder: string, index: number, signal: AbortSignal): Promise<Session> {
    mkdirSync(folder, { recursive: true });
    const machine = await Machine.start(folder, index, signal);
    const session = new Session(machine, new Cluster(machine.kubeConfig('admin')));
    try {
      await untilAborted(session.#cluster.createNamespace(), signal);
      return session;
    } catch (error) {
      await session.stop();
      throw error;
    }
  }

  private constructor(machine: Machine, cluster: Cluster) {
    this.#machine = machine;
    this.#cluster = cluster;
  }

  /** The node with an agent that does not run yet. */
  node(name: AgentName, options?: AgentOptions): NodeUnderTest {
    this.#machine.signal.throwIfAborted();
    const agent = createAgent(name, this.#machine, options);
    return (this.#node = new NodeUnderTest(this.#machine, agent, this.#cluster));
  }

  /** Calls a function while the node is run by an agent. */
  async withAgent<T>(name: AgentName, use: (node: NodeUnderTest) => Promise<T>): Promise<T> {
    const node = this.node(name);
    try {
      await node.startAgent();
      return await use(node);
    } finally {
      await node.stop();
    }
  }

  /** Ends everything that was started. Calling it again waits for the same. */
  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop());
  }

  async #stop(): Promise<void> {
    await this.#node?.agent.stop('SIGKILL');
    await this.#cluster.close();
    try {
      await this.#machine.stop();
    } finally {
      if (this.#node !== undefined) this.#machine.forget(this.#node.agent.folder);
    }
  }
}

/**
 * Calls a function with a session, then ends everything that the session has started. SIGINT, SIGTERM and a rejection
 * that nothing handles end it early: the signal is aborted, the session starts nothing any more, and this rejects when
 * everything has ended. The function may still wait for what is gone: `endEarly` ends the process.
 */
export async function withSession<T>(
  { folder, index }: { readonly folder: string; readonly index: number },
  use: (session: Session, signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const end = new AbortController();
  const onSignal = (name: NodeJS.Signals): void => end.abort(new Interruption(name));
  const onError = (error: unknown): void => end.abort(error);
  // A signal may come twice: npm sends the one that this process has received from the terminal, too.
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal).on('unhandledRejection', onError);
  const session = await Session.start(folder, index, end.signal);
  try {
    return await untilAborted(use(session, end.signal), end.signal);
  } finally {
    await session.stop();
    if (!end.signal.aborted)
      process.off('SIGINT', onSignal).off('SIGTERM', onSignal).off('unhandledRejection', onError);
  }
}

/** Says why a session ended early and where its logs are, and ends the process: with 128 + N after signal N, otherwise with 2. */
export function endEarly(error: unknown, folder: string): never {
  const isInterruption = error instanceof Interruption;
  const why = isInterruption ? `${error.message}: everything is stopped` : 'The run failed';
  const end = isInterruption ? '' : `: ${(error as Error).stack}`;
  // A progress line may be on the terminal.
  const start = process.stderr.isTTY ? '\r\u001B[K' : '';
  process.stderr.write(`${start}${why}; logs are in ${folder}${end}\n`);
  process.exit(isInterruption ? error.exitCode : 2);
}

class Interruption extends Error {
  readonly exitCode: number;

  constructor(signal: NodeJS.Signals) {
    super(`Interrupted by ${signal}`);
    this.exitCode = 128 + constants.signals[signal];
  }
}
