import { describeAPIError } from '../client/api-error.ts';
import type { Logger } from '../../shared/logger.ts';
import { resolveLogger } from '../../shared/ports.ts';
import type { AccessReport } from './access-report.ts';
import { type AccessClient, type AccessOptions, checkAccess } from './check-access.ts';

/**
 * `checkAccess` for the start of an agent: logs one warning with the missing permissions and the RBAC
 * YAML, or that they could not be checked; nothing once `signal` is aborted. Resolves with the report, if there is one.
 * Never rejects.
 * @param options `logger`: default pino at level `warn`
 * @throws StatusManagerError INVALID_ARGUMENT
 *
 * @example
 * ```ts
 * import { logMissingAccess } from 'kubelet-status-manager';
 *
 * await logMissingAccess(client, { nodeName, parts: ['status-manager', 'informer'], logger });
 * ```
 */
export async function logMissingAccess(
  client: AccessClient,
  { logger: port, ...options }: AccessOptions & { readonly logger?: Partial<Logger> | undefined },
): Promise<AccessReport | undefined> {
  const logger = resolveLogger(port);
  const { nodeName } = options;
  try {
    const report = await checkAccess(client, options);
    if (report.isComplete) return report;
    const missing = report.missing.map(({ verb, resource, subresource }) =>
      [verb, subresource === '' ? resource : `${resource}/${subresource}`].join(' '),
    );
    logger.warn({ nodeName, user: report.user, missing, rbac: report.rbac }, report.explain());
    return report;
  } catch (error) {
    if (options.signal?.aborted === true) return undefined;
    logger.warn({ nodeName, reason: describeAPIError(error).message }, 'Failed to check the permissions');
    return undefined;
  }
}
