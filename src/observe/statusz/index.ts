export { createStatusPage, type StatusPage, type StatusPageManager } from './create-status-page.ts';
export type { StatusPageOptions } from './options.ts';
export type { PodSummary, PodWait, StatusDocument, Timestamp } from './status-document.ts';
export type { PodDocument } from './pod-document.ts';
export type { TimelineEntry } from './timeline.ts';
