export type { APIRequests, APIResponse } from '../kube/client/api-requests.ts';
