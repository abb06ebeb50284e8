/** What keeps the agent from its work, in words for the person who started it. */
export class AgentError extends Error {
  override readonly name = 'AgentError';

  /** Says of any failure in which step it happened. */
  static from(error: unknown, step: string): AgentError {
    const message = error instanceof Error ? error.message : String(error);
    return new AgentError(`${step}: ${message}`, { cause: error });
  }
}
