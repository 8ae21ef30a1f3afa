import { EventEmitter, once } from 'node:events';
import { undiciRequest } from 'exact-change/undici';
import { describe, expect, it, vi } from 'vitest';

/** Requests a body that never ends after its first chunk. */
async function requested() {
  const cancel = vi.fn();
  const source = { start: (to: ReadableStreamDefaultController) => to.enqueue(Uint8Array.of(1)) };
  const request = undiciRequest({
    fetch: async () => new Response(new ReadableStream({ ...source, cancel })),
  });
  return { ...(await request('https://api.example.com/')), cancel };
}

describe('the body of an answer', () => {
  it('is cancelled when it is destroyed before it was read', async () => {
    const { body, cancel } = await requested();
    body.destroy();
    await once(body, 'close');
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('is cancelled when it is destroyed while it waits for a chunk', async () => {
    const { body, cancel } = await requested();
    body.resume();
    await once(body, 'data');
    body.destroy();
    await once(body, 'close');
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('may be destroyed after a method has read it', async () => {
    const request = undiciRequest({ fetch: async () => new Response('whole') });
    const { body } = await request('https://api.example.com/');
    expect(await body.text()).toBe('whole');
    body.destroy();
    await once(body, 'close');
    expect(body.errored).toBeNull();
  });
});

it('refuses a stream that fetch would send as its name', async () => {
  const fetch = vi.fn<typeof globalThis.fetch>();
  const url = 'https://api.example.com/';
  // The package form-data declares its forms as `Readable`, which they are not.
  const body = Object.assign(new EventEmitter(), { pipe: () => undefined });
  const options = Object.assign({ method: 'POST' }, { body });
  const asked: unknown = Reflect.apply(undiciRequest({ fetch }), undefined, [url, options]);
  await expect(asked).rejects.toMatchObject({ code: 'invalid_option' });
  expect(fetch).not.toHaveBeenCalled();
});
