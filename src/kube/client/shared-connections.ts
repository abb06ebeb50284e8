import { Agent as HTTPAgent } from 'node:http';
import type { AgentOptions } from 'node:https';
import { Agent as HTTPSAgent } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import type { Dispatcher } from 'undici/index.js';
import { isObject } from '../../shared/json.ts';
import { canBePooled, createAgentPool } from './agent-pool.ts';

/** The subset of client-node's `RequestContext` that is used: 1.4 has agents, 2.x dispatchers. */
export interface ConnectionContext {
  getAgent?(): unknown;
  setAgent?(agent: HTTPAgent): void;
  getDispatcher?(): unknown;
  setDispatcher?(dispatcher: Pick<Dispatcher, 'close'>): void;
}

/** An agent or dispatcher shared by several requests. */
export interface SharedConnection {
  /** True if it can replace this agent or dispatcher. */
  replaces(given: unknown): boolean;
  useFor(context: ConnectionContext): void;
  /** Present if undici can replace the agent. */
  pool?(): Promise<Dispatcher | undefined>;
  /** Closes idle connections immediately and the others when their requests end. */
  retire(): Promise<void>;
}

/**
 * Keeps connections of one API client open between requests. client-node makes a new agent or
 * dispatcher, and so a new TLS connection, for every call; this replaces it by a shared one.
 * Requests with an agent of another class (a proxy) or with none are not changed.
 */
export class SharedConnections {
  #current: SharedConnection | undefined;

  /** Makes a request use the shared connection, if its kind of transport can share one. */
  use(context: ConnectionContext): SharedConnection | undefined {
    const given = context.setDispatcher === undefined ? context.getAgent?.() : context.getDispatcher?.();
    if (!this.#current?.replaces(given)) {
      const next = isPlainAgent(given) ? shareAgent(given) : isDispatcher(given) ? shareDispatcher(given) : undefined;
      if (next === undefined) return undefined;
      void this.#current?.retire();
      this.#current = next;
    }
    this.#current.useFor(context);
    return this.#current;
  }

  /** Closes a connection that failed, or whose credentials were refused; the next request opens another. */
  async drop(connection: SharedConnection): Promise<void> {
    if (this.#current === connection) this.#current = undefined;
    await connection.retire();
  }

  async close(): Promise<void> {
    if (this.#current !== undefined) await this.drop(this.#current);
  }
}

/** Its TLS options cannot be read, so the first dispatcher is used until a request through it fails. */
function shareDispatcher(given: Pick<Dispatcher, 'close'>): SharedConnection {
  return {
    replaces: isDispatcher,
    useFor: (context) => context.setDispatcher?.(given),
    retire: () => given.close(),
  };
}

/** Below the 90 s after which an API server closes an idle connection. */
const IDLE_SOCKET_TIMEOUT_MS = 60_000;

function shareAgent(given: PlainAgent): SharedConnection {
  const options = { ...given.options };
  let pool: Promise<Dispatcher | undefined> | undefined;
  const keepAlive = { ...options, keepAlive: true, timeout: IDLE_SOCKET_TIMEOUT_MS };
  const agent = given instanceof HTTPSAgent ? new HTTPSAgent(keepAlive) : new HTTPAgent(keepAlive);
  return {
    replaces: (other) =>
      isPlainAgent(other) && other.constructor === agent.constructor && haveSameOptions(other.options, options),
    useFor: (context) => context.setAgent?.(agent),
    ...(canBePooled(options) && { pool: () => (pool ??= createAgentPool(options)) }),
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

/** Compares buffers by content: client-node reads or decodes the certificates again for each request. */
function haveSameOptions(some: AgentOptions, others: AgentOptions): boolean {
  const entries = Object.entries(some);
  return (
    entries.length === Object.keys(others).length &&
    entries.every(([name, value]) => isSame(value, others[name as keyof AgentOptions]))
  );
}

function isSame(some: unknown, other: unknown): boolean {
  if (Buffer.isBuffer(some) && Buffer.isBuffer(other)) return some.equals(other);
  return some === other || isDeepStrictEqual(some, other);
}

/** An instance of Node's own agent classes, whose behaviour depends only on its options. */
type PlainAgent = HTTPAgent & { readonly options: AgentOptions };

function isPlainAgent(agent: unknown): agent is PlainAgent {
  return agent instanceof HTTPAgent && (agent.constructor === HTTPAgent || agent.constructor === HTTPSAgent);
}

/** A dispatcher of the undici version that client-node depends on. */
function isDispatcher(value: unknown): value is Pick<Dispatcher, 'close'> {
  return !(value instanceof HTTPAgent) && isObject(value) && typeof value['close'] === 'function';
}
