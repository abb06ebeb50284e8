import { StatusManagerError } from '../../shared/errors.ts';

/** @throws StatusManagerError INVALID_OPTION unless `ms` is positive, or undefined */
export function requireDuration(path: string, ms: number | undefined): void {
  if (ms === undefined || (typeof ms === 'number' && ms > 0 && ms < Number.POSITIVE_INFINITY)) return;
  throw new StatusManagerError('INVALID_OPTION', `Expected \`${path}\` to be milliseconds > 0, got ${String(ms)}`, {
    path,
  });
}
