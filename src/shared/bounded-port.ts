import type { Clock } from './clock.ts';
import { boundedCall } from './deadline.ts';
import { plainCopy } from './plain-data.ts';
import { untilAborted } from './abort.ts';

declare const isBounded: unique symbol;

/**
 * A port of the caller with a deadline and the owner's stop signal for each call. Only `boundedPort` creates one, so code
 * that takes a `Bounded` port cannot be given the caller's own object.
 */
export type Bounded<Port> = {
  readonly [Name in keyof Port]: Port[Name] & { readonly [isBounded]: true };
};

/** The owner of calls, which tracks calls that are still running after their time-out; a `PodScope`. */
interface CallScope {
  run(
    what: string,
    options: {
      readonly signal: AbortSignal | undefined;
      readonly stopSignal: AbortSignal;
      readonly timeoutMs: number;
      readonly inTurnOn: string | undefined;
    },
    call: (options: { readonly signal: AbortSignal }) => Promise<unknown>,
  ): Promise<unknown>;
}

type AsyncMethod = (...args: never[]) => Promise<unknown>;

/** How the calls of one method end. */
export interface BoundedMethod<Method extends AsyncMethod> {
  /** How many parameters the method has. The last one has the signal: options, or with `takesSignal` the signal itself. */
  readonly parameters: Required<Parameters<Method>>['length'];
  readonly takesSignal?: Parameters<Method> extends [...unknown[], AbortSignal] ? true : never;
  /** Default: `timeoutMs` of the port, which is passed first. */
  readonly timeoutMs?: (timeoutMs: number, ...args: Parameters<Method>) => number;
  /** Throws if the result is invalid. Default: there is no result, or the type says enough. */
  readonly check?: (result: Awaited<ReturnType<Method>>) => unknown;
  /** True: a call with the same first argument as one in progress waits for that one. Default: false. */
  readonly isShared?: boolean;
  /** True: in the same scope, a call waits for the previous one, even if that has timed out. Default: false. */
  readonly isInTurn?: boolean;
}

/** A row for each method of a port, including optional ones. `unbounded`: it returns immediately. */
export type BoundedMethods<Port> = {
  readonly [Name in keyof Port]-?: NonNullable<Port[Name]> extends infer Method extends AsyncMethod
    ? BoundedMethod<Method>
    : 'unbounded';
};

export interface BoundedPortOptions<Methods> {
  /** For errors: `the runtime`. */
  readonly name: string;
  /** One row for each method of the port. */
  readonly methods: Methods;
  readonly clock: Pick<Clock, 'afterFunc'>;
  /** Time-out of a call whose row has none. */
  readonly timeoutMs: number;
  /** The owner's signal: aborts all calls, and rejects new ones. */
  readonly signal: AbortSignal;
  /** Wraps each call, for example to measure it. Default: no wrapper. */
  readonly around?: (method: keyof Methods & string, call: () => Promise<unknown>) => Promise<unknown>;
}

/**
 * The same port with a deadline for each call. A call rejects after its time-out, when its own signal or that of the owner
 * is aborted, even if the port does not react to the signal, and when the method throws synchronously. With `scope` in its
 * options, it runs there; the port does not get the scope. What it resolves with is copied once, see `plainCopy`. Methods
 * that the port omits are absent.
 */
export function boundedPort<Port extends object>(
  port: Port,
  options: BoundedPortOptions<BoundedMethods<Port>>,
): Bounded<Port> {
  const names = Object.keys(options.methods) as (keyof Port & string)[];
  const bounded = names
    .filter((name) => port[name] !== undefined)
    .map((name) => [name, boundedMethod(port, name, options)]);
  return Object.fromEntries(bounded) as Bounded<Port>;
}

/** The call has had its effect, but nobody knows with which result. */
export class InvalidResultError extends Error {}

type AnyMethod = (...args: unknown[]) => Promise<unknown>;

function boundedMethod<Port extends object>(
  port: Port,
  method: keyof Port & string,
  options: BoundedPortOptions<BoundedMethods<Port>>,
): unknown {
  const { name, methods, clock, signal: ownerSignal, around = (_, call) => call() } = options;
  const call = (args: readonly unknown[]): unknown => Reflect.apply(port[method] as AnyMethod, port, args);
  const row: BoundedMethod<AnyMethod> | 'unbounded' = methods[method];
  if (row === 'unbounded') return (...args: unknown[]) => call(args);
  const { parameters, takesSignal = false, timeoutMs, check, isShared = false, isInTurn = false } = row;

  const bounded = (args: readonly unknown[], last: unknown, callSignal: AbortSignal | undefined): Promise<unknown> => {
    const what = `${method} of ${name}`;
    const limitMs = timeoutMs?.(options.timeoutMs, ...args) ?? options.timeoutMs;
    const { scope, ...others } = (takesSignal ? {} : { ...(last as object | undefined) }) as { scope?: CallScope };
    const run = async ({ signal }: { readonly signal: AbortSignal }): Promise<unknown> => {
      const returned = await call([...args, takesSignal ? signal : { ...others, signal }]);
      try {
        const result = plainCopy(returned, `${method}()`);
        check?.(result);
        return result;
      } catch (cause) {
        throw new InvalidResultError((cause as Error).message, { cause });
      }
    };
    if (scope === undefined)
      return boundedCall(what, { clock, timeoutMs: limitMs, signals: [callSignal, ownerSignal] }, run);
    const inTurnOn = isInTurn ? what : undefined;
    return scope.run(what, { signal: callSignal, stopSignal: ownerSignal, timeoutMs: limitMs, inTurnOn }, run);
  };
  const shared = new SharedCalls<unknown>();
  return (...all: unknown[]) => {
    const last = all[parameters - 1];
    const args = all.slice(0, parameters - 1);
    const callSignal = (takesSignal ? last : (last as { signal?: AbortSignal } | undefined)?.signal) as
      | AbortSignal
      | undefined;
    const run = (signal: AbortSignal | undefined): Promise<unknown> =>
      around(method, () => bounded(args, last, signal));
    return isShared ? shared.run(args[0], callSignal, run) : run(callSignal);
  };
}

interface SharedCall<T> {
  readonly result: Promise<T>;
  readonly noLongerNeeded: AbortController;
  waiting: number;
}

/**
 * Shares calls: a caller that requests the same key as a call in progress waits for that call. Each caller may stop
 * waiting with its own signal. The call is aborted when the last caller has stopped waiting.
 */
export class SharedCalls<T> {
  readonly #calls = new Map<unknown, SharedCall<T>>();

  /** @param call started if there is no call for the key; its signal is aborted when no caller waits */
  async run(key: unknown, signal: AbortSignal | undefined, call: (signal: AbortSignal) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    const shared = this.#calls.get(key) ?? this.#begin(key, call);
    shared.waiting += 1;
    try {
      return await untilAborted(shared.result, signal);
    } finally {
      shared.waiting -= 1;
      if (shared.waiting === 0) {
        // A later caller must not wait for an aborted call.
        if (this.#calls.get(key) === shared) this.#calls.delete(key);
        shared.noLongerNeeded.abort();
      }
    }
  }

  #begin(key: unknown, call: (signal: AbortSignal) => Promise<T>): SharedCall<T> {
    const noLongerNeeded = new AbortController();
    const shared = { result: call(noLongerNeeded.signal), noLongerNeeded, waiting: 0 };
    this.#calls.set(key, shared);
    return shared;
  }
}
