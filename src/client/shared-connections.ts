import { Agent as HttpAgent } from 'node:http';
import type { AgentOptions } from 'node:https';
import { Agent as HttpsAgent } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import type { Dispatcher } from 'undici/index.js';
import { canBePooled, createAgentPool } from './agent-pool.ts';

/** What is used of client-node's `RequestContext`: agents are 1.4's, dispatchers 2.x's. */
export interface ConnectionContext {
  getAgent?(): unknown;
  setAgent?(agent: HttpAgent): void;
  getDispatcher?(): unknown;
  setDispatcher?(dispatcher: Closable): void;
}

/** What is used of undici's `Dispatcher`, of whichever undici client-node brings along. */
interface Closable {
  close(): Promise<void>;
}

/** What several requests connect through. */
export interface SharedConnection {
  /** Present when undici can take the place of the agent. */
  pool?(): Promise<Dispatcher | undefined>;
  /** Closes what is idle now and the rest as its requests end. */
  retire(): Promise<void>;
}

interface AgentConnection extends SharedConnection {
  readonly agent: HttpAgent;
  /** The options of the agent it stands in for. */
  readonly options: AgentOptions;
}

interface DispatcherConnection extends SharedConnection {
  readonly dispatcher: Closable;
}

/**
 * Keeps connections of one API client open between requests. client-node makes a new agent or
 * dispatcher for every call, and so a new TLS connection; this puts a shared one in its place.
 * Requests with an agent of another class (a proxy) or with none are not changed.
 */
export class SharedConnections {
  #agent: AgentConnection | undefined;
  #dispatcher: DispatcherConnection | undefined;

  /** Makes a request use the shared connection, if its kind of transport can share one. */
  use(context: ConnectionContext): SharedConnection | undefined {
    if (context.setDispatcher !== undefined) return this.#useDispatcher(context);
    if (context.setAgent !== undefined) return this.#useAgent(context);
    return undefined;
  }

  /** Closes a connection that failed, or whose credentials were refused; the next request opens another. */
  async drop(connection: SharedConnection): Promise<void> {
    if (this.#agent === connection) this.#agent = undefined;
    if (this.#dispatcher === connection) this.#dispatcher = undefined;
    await connection.retire();
  }

  async close(): Promise<void> {
    const open = [this.#agent, this.#dispatcher].filter((connection) => connection !== undefined);
    await Promise.all(open.map((connection) => this.drop(connection)));
  }

  #useAgent(context: ConnectionContext): SharedConnection | undefined {
    const given = context.getAgent?.();
    if (!isPlainAgent(given)) return undefined;
    const options = { ...given.options };
    let shared = this.#agent;
    if (shared === undefined || !isSameAgent(shared, given, options)) {
      void shared?.retire();
      shared = createAgentConnection(given, options);
      this.#agent = shared;
    }
    context.setAgent?.(shared.agent);
    return shared;
  }

  /** Its TLS options cannot be read, so the first dispatcher is used until a request through it fails. */
  #useDispatcher(context: ConnectionContext): SharedConnection | undefined {
    const given = context.getDispatcher?.();
    if (!isClosable(given)) return undefined;
    this.#dispatcher ??= { dispatcher: given, retire: () => given.close() };
    context.setDispatcher?.(this.#dispatcher.dispatcher);
    return this.#dispatcher;
  }
}

/** Below the 90 s after which an API server closes an idle connection. */
const IDLE_SOCKET_TIMEOUT_MS = 60_000;

function createAgentConnection(given: HttpAgent, options: AgentOptions): AgentConnection {
  let pool: Promise<Dispatcher | undefined> | undefined;
  const keepAlive = { ...options, keepAlive: true, timeout: IDLE_SOCKET_TIMEOUT_MS };
  const agent = given instanceof HttpsAgent ? new HttpsAgent(keepAlive) : new HttpAgent(keepAlive);
  return {
    agent,
    options,
    ...(canBePooled(options) ? { pool: () => (pool ??= createAgentPool(options)) } : {}),
    async retire() {
      await (await pool)?.close();
      // `destroy()` would cut off requests in flight.
      agent.maxFreeSockets = 0;
      for (const sockets of Object.values(agent.freeSockets)) {
        for (const socket of sockets ?? []) socket.destroy();
      }
    },
  };
}

/** An agent of Node itself, whose behaviour is all in its options. */
function isPlainAgent(agent: unknown): agent is HttpAgent & { readonly options: AgentOptions } {
  return agent instanceof HttpAgent && (agent.constructor === HttpAgent || agent.constructor === HttpsAgent);
}

function isSameAgent(shared: AgentConnection, given: HttpAgent, options: AgentOptions): boolean {
  return shared.agent.constructor === given.constructor && isDeepStrictEqual(shared.options, options);
}

function isClosable(value: unknown): value is Closable {
  return typeof value === 'object' && value !== null && 'close' in value && typeof value.close === 'function';
}
