export type { ApiRequests, ApiResponse } from '../index.ts';
