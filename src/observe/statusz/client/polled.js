/**
 * A document of the server that is polled. An unchanged document is not sent again.
 *
 * @template T
 */
export class PolledDocument {
  #url;
  #etag = '';
  /** @type {T | undefined} */
  value;

  /** @param {string} url */
  constructor(url) {
    this.#url = url;
  }

  /**
   * Resolves with the server's time; `value` is undefined after a 404. Rejects for every other failure.
   *
   * @param {AbortSignal} signal
   */
  async poll(signal) {
    const headers = this.#etag === '' ? undefined : { 'if-none-match': this.#etag };
    const response = await fetch(this.#url, { cache: 'no-store', signal, ...(headers && { headers }) });
    if (response.status === 404) this.value = undefined;
    else if (response.ok) this.value = await response.json();
    else if (response.status !== 304) throw new Error(`${response.status} ${response.statusText}`);
    this.#etag = response.headers.get('etag') ?? '';
    return Number(response.headers.get('statusz-time') ?? Date.now());
  }
}
