export { createStatusPage, type StatusPage, type StatusPageManager } from './create-status-page.ts';
export type { StatusPageOptions } from './options.ts';
