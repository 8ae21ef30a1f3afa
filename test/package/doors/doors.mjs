// Gives a client to each package, as docs/http-clients.md describes. Copied beside the packages.
import { Readable } from 'node:stream';

/** Sends bytes as a stream, in pieces. */
const streamed = (bytes) =>
  Readable.from(
    (function* () {
      for (let at = 0; at < bytes.length; at += 65536) yield bytes.subarray(at, at + 65536);
    })(),
  );

const undici =
  (version) =>
  async (client, { undiciRequest }) => {
    const { request: original } = await import(version);
    const request = undiciRequest(client);
    const read = async ({ statusCode, body, receipt }) => ({
      status: statusCode,
      data: await body.json(),
      receipt,
    });
    return {
      get: async (url) => read(await request(url)),
      post: async (url, data) =>
        read(
          await request(url, {
            method: 'POST',
            headers: ['content-type', 'application/json'],
            body: JSON.stringify(data),
          }),
        ),
      upload: async (url, bytes) =>
        read(await request(url, { method: 'POST', body: streamed(bytes) })),
      /** Returns the results of undici's own request and of the library's for the same call. */
      twins: (url, options) =>
        Promise.all(
          [original, request].map(async (send) => {
            const { statusCode, headers, body, trailers, opaque } = await send(url, options);
            const { date: _date, ...rest } = headers;
            return { statusCode, headers: rest, body: await body.text(), trailers, opaque };
          }),
        ),
    };
  };

export const doors = {
  async axios(client, { wrapAxios, receiptOf }) {
    const { default: axios } = await import('axios');
    const { default: retry } = await import('axios-retry');
    const api = wrapAxios(axios.create(), client);
    retry(api, {
      retries: 2,
      retryDelay: () => 0,
      retryCondition: (e) => e.response?.status === 503,
    });
    const seen = [];
    api.interceptors.request.use((config) => (seen.push(config.method), config));
    api.interceptors.response.use((response) => (seen.push(response.status), response));
    const read = ({ status, data, request }) => ({ status, data, receipt: receiptOf(request) });
    return {
      get: async (url) => read(await api.get(url)),
      post: async (url, data) => read(await api.post(url, data)),
      upload: async (url, bytes) => read(await api.post(url, streamed(bytes))),
      seen,
    };
  },

  async ky(client) {
    const { default: ky } = await import('ky');
    const api = ky.create({ fetch: client.fetch });
    const read = async (response) => ({ status: response.status, data: await response.json() });
    return {
      get: async (url) => read(await api.get(url, { retry: { limit: 2, delay: () => 0 } })),
      post: async (url, json) => read(await api.post(url, { json, retry: 0 })),
      upload: async (url, bytes) =>
        read(
          await api.post(url, { body: Readable.toWeb(streamed(bytes)), duplex: 'half', retry: 0 }),
        ),
    };
  },

  async ofetch(client) {
    const { createFetch } = await import('ofetch');
    const api = createFetch({ fetch: client.fetch });
    const read = (response) => ({ status: response.status, data: response._data });
    return {
      get: async (url) => read(await api.raw(url, { retry: 2, retryDelay: 0 })),
      post: async (url, body) => read(await api.raw(url, { method: 'POST', body, retry: 0 })),
      upload: async (url, bytes) =>
        read(
          await api.raw(url, { method: 'POST', body: streamed(bytes), duplex: 'half', retry: 0 }),
        ),
    };
  },

  'undici 5': undici('undici-5'),
  'undici 6': undici('undici-6'),
  'undici 7': undici('undici-7'),
};

/** Asks a model a question through each common SDK. */
export const models = {
  async OpenAI(client, baseURL) {
    const { default: OpenAI } = await import('openai');
    const openai = new OpenAI({ apiKey: 'none', baseURL, fetch: client.fetch, maxRetries: 0 });
    const answer = await openai.chat.completions.create({
      model: 'm',
      messages: [{ role: 'user', content: 'What is the time?' }],
    });
    return answer.choices[0].message.content;
  },

  async Anthropic(client, baseURL) {
    const { default: Anthropic } = await import('@anthropic-ai/sdk');
    const anthropic = new Anthropic({
      ...{
        apiKey: 'none',
        baseURL: baseURL.replace('/v1', ''),
        fetch: client.fetch,
        maxRetries: 0,
      },
    });
    const answer = await anthropic.messages.create({
      ...{ model: 'm', max_tokens: 10, messages: [{ role: 'user', content: 'What is the time?' }] },
    });
    return answer.content[0].text;
  },

  async 'AI SDK'(client, baseURL) {
    const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible');
    const { generateText } = await import('ai');
    const provider = createOpenAICompatible({ name: 'p', baseURL, fetch: client.fetch });
    const { text } = await generateText({
      ...{ model: provider('m'), prompt: 'What is the time?', maxRetries: 0 },
    });
    return text;
  },
};
