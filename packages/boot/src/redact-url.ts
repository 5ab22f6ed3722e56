/** A node of a Redis Cluster may come after a comma, and without the protocol. */
const CREDENTIALS = /((?::\/\/|,)[^\s:@/",]*):[^\s@/"]+@/g;

/** The text with the password of every URL in it replaced by `***`. Never throws. */
export function redactUrl(text: string): string {
  return text.replace(CREDENTIALS, '$1:***@');
}
