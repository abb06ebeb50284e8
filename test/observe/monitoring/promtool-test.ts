import { stringify } from 'yaml';

/**
 * A test for promtool: the outage goes on for twenty minutes after this scrape, and then these
 * alerts fire and no other, besides PodStatusLate.
 *
 * @param isGrowing whether an age goes on growing
 */
export function promtoolTest(
  ruleFile: string,
  scrape: string,
  alerts: readonly string[],
  isGrowing: (series: string, value: number) => boolean = () => true,
): string {
  const samples = [...scrape.matchAll(/^(kubelet_\w+(?:\{.*\})?) (\S+)$/gm)];
  return stringify({
    rule_files: [ruleFile],
    evaluation_interval: '30s',
    tests: [
      {
        interval: '1m',
        input_series: samples.map(([, series, value]) => ({
          series,
          values: valuesOf(series!, Number(value), isGrowing(series!, Number(value))),
        })),
        promql_expr_test: [
          {
            expr: 'count by (alertname) (ALERTS{alertstate="firing", alertname!="PodStatusLate"})',
            eval_time: '20m',
            exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
          },
        ],
      },
    ],
  });
}

/** For each of the next minutes; promtool's time begins at 0. */
function valuesOf(series: string, value: number, isGrowing: boolean): string {
  const name = /^\w+/.exec(series)![0];
  // What was counted up to now is counted again every minute; what has an age grows older.
  if (/_(?:total|count|sum|bucket)$/.test(name)) return `${value}+${value}x20`;
  if (name.endsWith('_age_seconds') && value > 0 && isGrowing) return `${value}+60x20`;
  return `${value}+0x20`;
}
