/** Why `head`, the first bytes that a server sent, is not a complete HTTP/1 response. Source: Go `http.ReadResponse`. */
export function malformedResponseMessage(head: Buffer): string {
  return `net/http: HTTP/1.x transport connection broken: ${reasonOf(head.toString('latin1').split('\n').slice(0, -1))}`;
}

function reasonOf(completeLines: readonly string[]): string {
  const [statusLine, ...headers] = completeLines.map((line) => line.replace('\r', ''));
  if (statusLine === undefined) return 'unexpected EOF';
  const space = statusLine.indexOf(' ');
  if (space === -1) return `malformed HTTP response ${JSON.stringify(statusLine)}`;
  const [statusCode = ''] = statusLine.slice(space).trimStart().split(' ');
  if (!/^\d{3}$/.test(statusCode)) return `malformed HTTP status code ${JSON.stringify(statusCode)}`;
  const version = statusLine.slice(0, space);
  if (!/^HTTP\/\d\.\d$/.test(version)) return `malformed HTTP version ${JSON.stringify(version)}`;
  const end = headers.indexOf('');
  const badLine = headers.find((line, i) => !line.includes(':') && i !== end);
  if (badLine !== undefined) return `malformed MIME header: missing colon: ${JSON.stringify(badLine)}`;
  return end === -1 ? 'unexpected EOF' : 'malformed response';
}
