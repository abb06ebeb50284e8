import { reasonOf } from '../../shared/logger.ts';
import type { NodeReporterOptions } from './node-reporter-options.ts';

/**
 * What the hook returns. A hook that throws, or returns something other than a list, is a reason to be
 * not ready, too: otherwise the Node would keep the Ready condition that it had.
 */
export function readyErrorsOf(readyErrors: NodeReporterOptions['readyErrors']): readonly string[] {
  try {
    const errors: unknown = readyErrors?.() ?? [];
    if (Array.isArray(errors)) return errors.map(String);
    throw new TypeError('it did not return a list');
  } catch (thrown) {
    return [`readyErrors failed: ${reasonOf(thrown)}`];
  }
}
