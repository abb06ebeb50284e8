/** Calls somebody else's code: what it throws, or its promise rejects with, goes to `onThrow`; returns undefined then. */
export function tryCall<T>(call: () => T, onThrow: (thrown: unknown) => void): T | undefined {
  try {
    const result = call();
    if (result instanceof Promise) {
      result.catch((thrown: unknown) => {
        // Not returned: it may be a promise again.
        onThrow(thrown);
      });
    }
    return result;
  } catch (thrown) {
    onThrow(thrown);
    return undefined;
  }
}

/**
 * The same port with methods that never throw or reject: what does goes to `onThrow`, and a call that
 * throws returns undefined. For what is told to somebody else and must not decide how it goes on here.
 */
export function guarded<Port extends object>(
  port: Port,
  methods: readonly (keyof Port & string)[],
  onThrow: (thrown: unknown, method: string) => void,
): Port {
  const guarded: Partial<Record<string, unknown>> = {};
  for (const method of methods) {
    guarded[method] = (...args: unknown[]): unknown =>
      tryCall(
        () => Reflect.apply(port[method] as (...args: unknown[]) => unknown, port, args),
        (thrown) => onThrow(thrown, method),
      );
  }
  return guarded as Port;
}
