import { Alarm } from '../shared/alarm.ts';
import type { Clock } from '../shared/clock.ts';
import type { LogFunction, Logger } from '../shared/logger.ts';

/** Up to this many nodes are logged individually; beyond it, the cause is not a single node. */
const maxLoggedNodes = 3;
const countedForMs = 10_000;
const maxNamedNodes = 20;

interface Group {
  readonly level: 'info' | 'warn';
  readonly message: string;
  fields: object;
  /** In the order of their first line. */
  readonly nodes: Set<string>;
}

/**
 * The log of many nodes in one process, which all have the same outages. A line about a node is logged for the first three
 * nodes, and ten seconds later once with the number of nodes. For the other nodes, it is logged at debug. Errors and lines
 * about a pod are logged for each node.
 */
export class NodeLines {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** By level and message: the lines of at most ten seconds. */
  readonly #groups = new Map<string, Group>();
  #untilMs = -Infinity;
  readonly #counted: Alarm;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
    this.#counted = new Alarm(clock, () => this.#logCounts());
  }

  /** The logger of one node; adds its name to lines that are not about a pod. */
  loggerOf(node: string): Logger {
    const logger = this.#logger;
    const log =
      (level: Group['level']): LogFunction =>
      (fields, message) => {
        if ('podUID' in fields) logger[level](fields, message);
        else this.#log(node, level, { node, ...fields }, message);
      };
    return {
      trace: (fields, message) => logger.trace(fields, message),
      debug: (fields, message) => logger.debug(fields, message),
      error: (fields, message) => logger.error(fields, message),
      info: log('info'),
      warn: log('warn'),
    };
  }

  /** Logs the numbers that are due, and leaves no timer. */
  stop(): void {
    this.#counted.stop();
    this.#logCounts();
  }

  #log(node: string, level: Group['level'], fields: object, message: string): void {
    const nowMs = this.#clock.monotonicMs();
    if (nowMs >= this.#untilMs) {
      this.#logCounts();
      this.#untilMs = nowMs + countedForMs;
    }
    const key = `${level} ${message}`;
    const group = this.#groups.get(key) ?? { level, message, fields, nodes: new Set<string>() };
    this.#groups.set(key, group);
    group.nodes.add(node);
    group.fields = fields;
    const isOneOfMany = group.nodes.size > maxLoggedNodes;
    this.#logger[isOneOfMany ? 'debug' : level](fields, message);
    if (isOneOfMany) this.#counted.arm(this.#untilMs - nowMs);
  }

  #logCounts(): void {
    for (const { level, message, fields, nodes } of this.#groups.values()) {
      if (nodes.size <= maxLoggedNodes) continue;
      const names = [...nodes].slice(0, maxNamedNodes);
      this.#logger[level]({ ...fields, node: undefined, nodeName: undefined, nodes: nodes.size, names }, message);
    }
    this.#groups.clear();
  }
}
