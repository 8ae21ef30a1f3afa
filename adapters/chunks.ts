/** Yields the chunks of a body, and cancels it if its reader leaves. */
export async function* chunksOf(
  body: ReadableStream<Uint8Array> | null,
): AsyncGenerator<Uint8Array> {
  const reader = body?.getReader();
  try {
    for (let part = await reader?.read(); part?.done === false; part = await reader?.read())
      yield part.value;
  } finally {
    await reader?.cancel();
  }
}
