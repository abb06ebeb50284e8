/** The fields of Ginkgo's JSON report that are read here. Durations are in nanoseconds. */
export interface GinkgoReport {
  readonly SpecReports:
    | readonly {
        readonly LeafNodeType: string;
        readonly LeafNodeText: string;
        readonly ContainerHierarchyTexts: readonly string[] | null;
        readonly State: string;
        readonly RunTime?: number;
        readonly Failure?: { readonly Message?: string };
      }[]
    | null;
}

export interface SpecResult {
  readonly group: string;
  readonly name: string;
  /** Ginkgo's word: `passed`, `failed`, `skipped`, `timedout`, `interrupted`, `panicked`. */
  readonly state: string;
  readonly seconds: number;
  /** The first line of the failure. */
  readonly message?: string;
}

/** The specs that ran. A spec that a filter has left out has no entry; one that called Skip has. */
export function readGinkgoReport(suites: readonly GinkgoReport[]): SpecResult[] {
  return suites
    .flatMap(({ SpecReports }) => SpecReports ?? [])
    .filter(({ LeafNodeType, State, Failure }) => LeafNodeType === 'It' && !(State === 'skipped' && !Failure?.Message))
    .map(({ ContainerHierarchyTexts, LeafNodeText, State, RunTime = 0, Failure }) => {
      const texts = [...(ContainerHierarchyTexts ?? []), LeafNodeText];
      const message = Failure?.Message?.split('\n').find((line) => line.trim() !== '');
      return {
        group: texts[0]!,
        name: texts.join(' '),
        state: State,
        seconds: Math.round(RunTime / 1e8) / 10,
        ...(message !== undefined && { message: message.trim().slice(0, 200) }),
      };
    });
}
