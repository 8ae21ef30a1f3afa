// A webhook receiver in a Workers runtime.
import { verifyWebhook } from 'exact-change/webhooks/verify';

export default {
  async fetch(request, { SECRET }) {
    try {
      return Response.json(
        verifyWebhook({ secret: SECRET, headers: request.headers, body: await request.text() }),
      );
    } catch ({ code, details }) {
      return Response.json({ code, details }, { status: 400 });
    }
  },
};
