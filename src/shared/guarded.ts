/**
 * Calls a user callback. Passes its exception or rejection to `onThrow`; the result is then undefined,
 * or a promise of undefined.
 */
export function tryCall<T>(call: () => T, onThrow: (thrown: unknown) => void): T | undefined {
  try {
    const result = call();
    return isThenable(result) ? (withoutRejection(result, onThrow) as T) : result;
  } catch (thrown) {
    onThrow(thrown);
    return undefined;
  }
}

/**
 * A port with the same `methods`, which never throw or reject: what they throw goes to `onThrow`, as
 * in `tryCall`. A method that `port` lacks does nothing.
 */
export function guarded<Port extends object>(
  port: Partial<Port>,
  methods: readonly (keyof Port & string)[],
  onThrow: (thrown: unknown, method: string) => void,
): Port {
  const guardedMethods: Partial<Record<string, unknown>> = {};
  for (const method of methods) {
    const logThrown = (thrown: unknown): void => onThrow(thrown, method);
    // As tryCall, but without a closure for each call: the hot path logs and reports metrics.
    guardedMethods[method] = (...args: unknown[]): unknown => {
      try {
        const result = (port[method] as ((...args: unknown[]) => unknown) | undefined)?.(...args);
        return isThenable(result) ? withoutRejection(result, logThrown) : result;
      } catch (thrown) {
        logThrown(thrown);
        return undefined;
      }
    };
  }
  return guardedMethods as Port;
}

export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as PromiseLike<unknown>).then === 'function';
}

async function withoutRejection(promise: PromiseLike<unknown>, onThrow: (thrown: unknown) => void): Promise<unknown> {
  try {
    return await promise;
  } catch (thrown) {
    onThrow(thrown);
    return undefined;
  }
}
