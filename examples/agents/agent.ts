import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { createClient, settled, type Client, type PolicyOptions } from 'exact-change';
import { wrapMcp } from 'exact-change/mcp';
import type { Sandbox } from 'exact-change-sandbox';

type Funds = Parameters<Sandbox['createWallet']>[0];

/** An agent with its own wallet. */
export interface Agent {
  readonly name: string;
  readonly address: string;
  /** USDC balance of the agent at the start, in base units. */
  readonly opening: bigint;
  readonly client: Client;
  /** Calls and pays a tool of an MCP server; resolves with its text. */
  buyTool(url: string, name: string, query: string): Promise<string>;
  /** Buys a page; resolves with its text. */
  buyPage(url: string, query: string): Promise<string>;
  close(): Promise<void>;
}

/** Makes an agent that buys within a policy; HTTP and MCP share its budget. */
export async function createAgent(
  sandbox: Sandbox,
  name: string,
  funds: Funds,
  policy: PolicyOptions = {},
): Promise<Agent> {
  const { rpcUrl, jupiterUrl } = sandbox;
  const { address, secretKey } = await sandbox.createWallet(funds);
  const options = { walletSecretKey: secretKey, rpcUrl, jupiterUrl, autoSwap: true, policy };
  const client = createClient(options);
  // Without a `journal` option, all clients of a wallet in a process share a journal and a budget.
  const ends = [() => client.close()];
  return {
    ...{ name, address, client },
    opening: await sandbox.balance(address, 'USDC'),
    async buyTool(url, tool, query) {
      const mcp = new McpClient({ name, version: '1.0.0' });
      await mcp.connect(new StreamableHTTPClientTransport(new URL(url)));
      const paying = wrapMcp(mcp, { ...options, url });
      ends.push(async () => {
        await paying.close();
        await mcp.close();
      });
      const result = await mcp.callTool({ name: tool, arguments: { query } });
      await settled(result);
      return result.content.map((part) => (part.type === 'text' ? part.text : '')).join('');
    },
    async buyPage(url, query) {
      const response = await client.fetch(`${url}?query=${encodeURIComponent(query)}`);
      if (!response.ok) throw new Error(`${url} answered ${response.status}`);
      const text = await response.text();
      await settled(response);
      return text;
    },
    async close() {
      for (const end of ends.splice(0)) await end();
    },
  };
}
