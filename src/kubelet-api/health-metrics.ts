import type { HealthCheck } from '../node/index.ts';
import { MetricFamilies } from './metric-families.ts';

const families = {
  kubernetes_healthcheck: { type: 'gauge', help: 'Result of the last run of a health check' },
  kubernetes_healthchecks_total: { type: 'counter', help: 'Runs of health checks' },
} as const;

interface Results {
  isPassing: boolean;
  readonly counts: Record<'success' | 'error', number>;
}

/** `/metrics/slis`: the results of the checks of `/healthz`. Source: component-base `slis.Register` */
export class HealthMetrics {
  readonly #results = new Map<string, Results>();

  observe(checks: readonly HealthCheck[]): void {
    for (const { name, failure } of checks) {
      const results = this.#results.get(name) ?? { isPassing: false, counts: { success: 0, error: 0 } };
      results.isPassing = failure === undefined;
      results.counts[results.isPassing ? 'success' : 'error']++;
      this.#results.set(name, results);
    }
  }

  /** In the text format of Prometheus. */
  format(): string {
    const metrics = new MetricFamilies(families);
    for (const [name, { isPassing, counts }] of this.#results) {
      metrics.add('kubernetes_healthcheck', isPassing ? 1 : 0, { name, type: 'healthz' });
      for (const status of ['error', 'success'] as const)
        if (counts[status] > 0)
          metrics.add('kubernetes_healthchecks_total', counts[status], { name, status, type: 'healthz' });
    }
    return metrics.format();
  }
}
