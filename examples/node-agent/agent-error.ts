/** An error that stops the agent. Its message is for the person who started the agent. */
export class AgentError extends Error {
  override readonly name = 'AgentError';

  /** Wraps any error and names the step in which it happened. */
  static from(error: unknown, step: string): AgentError {
    const message = error instanceof Error ? error.message : String(error);
    return new AgentError(`${step}: ${message}`, { cause: error });
  }
}
