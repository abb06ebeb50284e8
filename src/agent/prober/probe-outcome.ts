/**
 * What one attempt of a probe found, and in words what it is based on. A `warning` counts as a
 * success and is recorded as an event. Source: kubelet `probe.Result`.
 */
export interface ProbeOutcome {
  readonly result: 'success' | 'warning' | 'failure';
  readonly output: string;
}
