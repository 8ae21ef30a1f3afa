import { startWorld } from './clients.js';
import { undisturbed } from './measure.js';

const GETS = 1_500;
const POSTS = 500;

/** Measures the time that a client adds to free requests, compared with plain fetch. */
export async function free() {
  const { client, apiUrl, quickUrl, end } = await startWorld();
  const ours = await client('ours');
  const url = `${quickUrl}/free`;
  const figures = {
    get: undisturbed(await ours.call('free', `${apiUrl}/free`, 'none', GETS)),
    text: undisturbed(await ours.call('free', url, 'text', POSTS)),
    bytes: undisturbed(await ours.call('free', url, 'bytes', POSTS)),
  };
  await end();
  return figures;
}
