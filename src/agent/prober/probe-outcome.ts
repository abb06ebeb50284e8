/**
 * The result of one probe attempt with its output. A `warning` counts as a success and is recorded as
 * an event. Source: kubelet `probe.Result`.
 */
export interface ProbeOutcome {
  readonly result: 'success' | 'warning' | 'failure';
  readonly output: string;
}
