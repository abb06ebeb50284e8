import { APIError } from '../../kube/client/api-error.ts';
import { expiredFault, type Fault } from './fault.ts';

/** The error that a client reports for this fault over HTTP. */
export function errorOfFault(fault: Exclude<Fault, { kind: 'delay' | 'hang' | 'end' }>): APIError {
  switch (fault.kind) {
    case 'status': {
      const { code, reason, message, causes, retryAfterMs } = fault;
      return new APIError(message, { kind: 'http', statusCode: code, reason, causes, retryAfterMs });
    }
    case 'expire':
      return new APIError(expiredFault.message, {
        kind: 'http',
        statusCode: expiredFault.code,
        reason: expiredFault.reason,
      });
    case 'body':
      return new APIError('the response is not a pod (injected fault)', { kind: 'invalid-response' });
    default:
      return new APIError('the connection was cut (injected fault)', { kind: 'network' });
  }
}
