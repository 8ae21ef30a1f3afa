import { local, type LocalOptions } from 'exact-change';
import { createHandler, type HandlerOptions } from 'exact-change/http';
import { serve } from 'exact-change/node';
import type { Sandbox } from 'exact-change-sandbox';

/** Replaces an answer of the service by a body or a response; undefined keeps the honest answer. */
export type Retell = (path: string, answer: Response, request: unknown) => unknown;

/** A real service on the sandbox that records its calls, and that a test can make lie. */
export interface RecordedService {
  readonly url: string;
  /** Paths of the calls since the last {@link reset}, without `/api/`, in order. */
  readonly calls: readonly string[];
  /** Bodies of the POST calls since the last {@link reset}. */
  readonly bodies: readonly unknown[];
  /** Replaces answers until the next {@link reset}. */
  retell(by: Retell): void;
  reset(): void;
  close(): Promise<void>;
}

export async function startRecordedService(
  { rpcUrl, jupiterUrl }: Sandbox,
  options: HandlerOptions = {},
  localOptions: LocalOptions = {},
): Promise<RecordedService> {
  const handler = createHandler(local({ rpcUrl, jupiterUrl, ...localOptions }), options);
  const calls: string[] = [];
  const bodies: unknown[] = [];
  let by: Retell = () => undefined;
  const service = await serve(
    async (request) => {
      const path = new URL(request.url).pathname.replace('/api/', '');
      const body: unknown =
        request.method === 'POST' ? JSON.parse(await request.clone().text()) : undefined;
      calls.push(path);
      if (body !== undefined) bodies.push(body);
      const answer = await handler(request);
      const told = await by(path, answer.clone(), body);
      if (told === undefined) return answer;
      return told instanceof Response ? told : Response.json(told, { headers: answer.headers });
    },
    { port: 0 },
  );
  return {
    url: service.url,
    calls,
    bodies,
    retell: (next) => void (by = next),
    reset() {
      calls.length = 0;
      bodies.length = 0;
      by = () => undefined;
    },
    close: () => service.close({ graceMs: 0 }),
  };
}
