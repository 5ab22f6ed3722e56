import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { listen } from '../../../scripts/servers/listen.js';

/** A message as it came; `content` is its body, parsed. `at`: by performance.now(). */
export interface Recorded<Content> {
  at: number;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  content: Content;
}

export interface RecordingEndpoint<Content> {
  url: string;
  messages: Recorded<Content>[];
  /** Gone at once, for whoever is connected too. */
  close(): Promise<void>;
  /** There again, at the same address. */
  listen(): Promise<void>;
}

/** An endpoint of deliveries on this machine that keeps what it is sent. `answer` is told how many came. */
export async function startRecordingEndpoint<Content>(
  answer: (response: ServerResponse, messages: number) => void = (response) => response.end(),
): Promise<RecordingEndpoint<Content>> {
  const messages: Recorded<Content>[] = [];
  const server = createServer((request, response) => {
    const at = performance.now();
    let body = '';
    request.setEncoding('utf8').on('data', (text: string) => (body += text));
    request.on('end', () => {
      const content = JSON.parse(body) as Content;
      messages.push({ at, path: request.url ?? '', headers: request.headers, body, content });
      answer(response, messages.length);
    });
  });
  const { port, url, close } = await listen(server);
  const listenAgain = async () => void (await listen(server, port));
  return { url: `${url}/hook`, messages, close, listen: listenAgain };
}
