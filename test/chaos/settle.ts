/** How long the last changes may take to arrive once the faults have stopped. */
const deadlineMs = 75_000;
const pollMs = 250;

/** Waits until there is no problem, or too long. @param startedAtMs when the faults have stopped */
export async function untilNoProblem(
  startedAtMs: number,
  findProblem: () => Promise<string | undefined>,
): Promise<{ readonly passedMs: number; readonly problem: string | undefined }> {
  for (;;) {
    const problem = await findProblem();
    const passedMs = Date.now() - startedAtMs;
    if (problem === undefined) return { passedMs, problem };
    if (passedMs > deadlineMs) return { passedMs, problem: `after ${deadlineMs / 1000} s: ${problem}` };
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}
