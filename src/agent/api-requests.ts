export type { ApiRequests, ApiResponse } from '../kube/client/api-requests.ts';
