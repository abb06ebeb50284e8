/** Whether a port keeps one rule of a checklist. */
export interface RuleResult<Rule extends string = string> {
  readonly rule: Rule;
  readonly passed: boolean;
  /** The reason for the rule, after what was seen instead if it was broken. */
  readonly message: string;
}

/** Collects the results of the rules that were tried. */
export class RuleResults<Rule extends string> {
  readonly #reasons: Readonly<Record<Rule, string>>;
  /** Undefined: kept so far. */
  readonly #seen = new Map<Rule, string | undefined>();

  /** @param reasons each rule, with what is wrong when it is broken */
  constructor(reasons: Readonly<Record<Rule, string>>) {
    this.#reasons = reasons;
  }

  /** @param seen what was seen instead; the first one counts */
  check(rule: Rule, isMet: boolean, seen: string): void {
    if (this.#seen.get(rule) === undefined) this.#seen.set(rule, isMet ? undefined : seen);
  }

  /** In the order of the table. */
  list(): RuleResult<Rule>[] {
    return (Object.keys(this.#reasons) as Rule[]).flatMap((rule) => {
      if (!this.#seen.has(rule)) return [];
      const seen = this.#seen.get(rule);
      const reason = this.#reasons[rule];
      return [{ rule, passed: seen === undefined, message: seen === undefined ? reason : `${seen}. ${reason}` }];
    });
  }
}

/** A value in the message of a result. */
export function show(value: unknown): string {
  return value === undefined ? 'absent' : JSON.stringify(value);
}
