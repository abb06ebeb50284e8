import type { PodAdmitAttributes, PodAdmitHandler, PodAdmitResult } from '../allocation/pod-admit-handler.ts';

/** Refuses new pods while the node shuts down. Source: kubelet `nodeshutdown.Manager.Admit`. */
export class ShutdownAdmitHandler implements PodAdmitHandler {
  #isShuttingDown = false;

  /** From now on every pod is refused. */
  begin(): void {
    this.#isShuttingDown = true;
  }

  admit(): PodAdmitResult {
    if (!this.#isShuttingDown) return { admit: true };
    return { admit: false, reason: 'NodeShutdown', message: 'Pod was rejected as the node is shutting down.' };
  }
}

/** Asks the option `canAdmitPod`. */
export function userAdmitHandler(canAdmitPod: (attributes: PodAdmitAttributes) => PodAdmitResult): PodAdmitHandler {
  return {
    admit: (attributes) => {
      const result: unknown = canAdmitPod(attributes);
      if (isAdmitResult(result)) return result;
      throw new TypeError('canAdmitPod did not return { admit: true } or { admit: false, reason, message }');
    },
  };
}

function isAdmitResult(value: unknown): value is PodAdmitResult {
  const { admit, reason, message } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return admit === true || (admit === false && typeof reason === 'string' && typeof message === 'string');
}
