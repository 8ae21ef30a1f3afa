import { local, type LocalOptions } from 'exact-change';
import { createHandler, type HandlerOptions } from 'exact-change/http';
import { serve } from 'exact-change/node';
import type { Sandbox } from 'exact-change-sandbox';

/**
 * What a service says in place of its answer: a body, an answer, or nothing else than the truth.
 */
export type Retell = (path: string, answer: Response, request: unknown) => unknown;

/** A real service on the sandbox that counts what it is asked, and may be made to lie. */
export interface RecordedService {
  readonly url: string;
  /** The paths of what was asked since the last {@link reset}, without `/api/`, in their order. */
  readonly calls: readonly string[];
  /** The bodies of what was posted. */
  readonly bodies: readonly unknown[];
  /** From now on until the next {@link reset}. */
  retell(by: Retell): void;
  reset(): void;
  close(): Promise<void>;
}

export async function startRecordedService(
  { rpcUrl, jupiterUrl }: Sandbox,
  options: HandlerOptions = {},
  own: LocalOptions = {},
): Promise<RecordedService> {
  const handler = createHandler(local({ rpcUrl, jupiterUrl, ...own }), options);
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
