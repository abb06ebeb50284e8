/**
 * The same port with methods that never throw: what one throws goes to `onThrow`, and the call
 * returns undefined. For what is told to somebody else and must not decide how it goes on here.
 */
export function unfailing<Port extends object>(
  port: Port,
  methods: readonly (keyof Port & string)[],
  onThrow: (thrown: unknown, method: string) => void,
): Port {
  const guarded: Partial<Record<string, unknown>> = {};
  for (const method of methods) {
    guarded[method] = (...args: unknown[]): unknown => {
      try {
        return Reflect.apply(port[method] as (...args: unknown[]) => unknown, port, args);
      } catch (thrown) {
        onThrow(thrown, method);
        return undefined;
      }
    };
  }
  return guarded as Port;
}
