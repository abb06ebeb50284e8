import { Agent as HTTPAgent } from 'node:http';
import type { AgentOptions } from 'node:https';
import { Agent as HTTPSAgent } from 'node:https';
import { isDeepStrictEqual } from 'node:util';
import type { Dispatcher } from 'undici/index.js';
import { isObject } from '../../shared/json.ts';
import { canBePooled, createAgentPool } from './agent-pool.ts';

/** What is used of client-node's `RequestContext`: agents are 1.4's, dispatchers 2.x's. */
export interface ConnectionContext {
  getAgent?(): unknown;
  setAgent?(agent: HTTPAgent): void;
  getDispatcher?(): unknown;
  setDispatcher?(dispatcher: Pick<Dispatcher, 'close'>): void;
}

/** What several requests connect through. */
export interface SharedConnection {
  /** True when it can take the place of this agent or dispatcher. */
  replaces(given: unknown): boolean;
  useFor(context: ConnectionContext): void;
  /** Present when undici can take the place of the agent. */
  pool?(): Promise<Dispatcher | undefined>;
  /** Closes what is idle now and the rest as its requests end. */
  retire(): Promise<void>;
}

/**
 * Keeps connections of one API client open between requests. client-node makes a new agent or
 * dispatcher for every call, and so a new TLS connection; this puts a shared one in its place.
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

/** client-node reads or decodes the certificates for each request, so they are other buffers of the same bytes. */
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

/** An agent of Node itself, whose behaviour is all in its options. */
type PlainAgent = HTTPAgent & { readonly options: AgentOptions };

function isPlainAgent(agent: unknown): agent is PlainAgent {
  return agent instanceof HTTPAgent && (agent.constructor === HTTPAgent || agent.constructor === HTTPSAgent);
}

/** A dispatcher of whichever undici client-node brings along. */
function isDispatcher(value: unknown): value is Pick<Dispatcher, 'close'> {
  return !(value instanceof HTTPAgent) && isObject(value) && typeof value['close'] === 'function';
}
