/** A request that is refused with this status; the message is sent to the client. */
export class HTTPError extends Error {
  override readonly name = 'HTTPError';
  readonly statusCode: number;

  constructor(statusCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.statusCode = statusCode;
  }
}
