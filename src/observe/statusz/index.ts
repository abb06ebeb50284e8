export { createStatusPage, type StatusPage } from './create-status-page.ts';
export type { StatusPageOptions } from './status-page-options.ts';
