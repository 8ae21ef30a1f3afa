import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import type { x402ResourceServer } from '@x402/core/server';
import type { Network, PaymentPayload, PaymentRequired } from '@x402/core/types';
import * as v from 'valibot';
import { toStandardJsonSchema } from '@valibot/to-json-schema';

/** The price of a tool, and the address that is paid. */
export interface Price {
  readonly network: Network;
  readonly payTo: string;
  /** Address of the mint. */
  readonly asset: string;
  /** Amount in base units. */
  readonly amount: string;
}

export interface PaidTool {
  readonly name: string;
  readonly description: string;
  readonly price: Price;
  run(query: string): Promise<string>;
}

const INPUT = toStandardJsonSchema(v.strictObject({ query: v.string() }));

/**
 * Adds tools that are paid by x402 to an MCP server, as in x402's specification for MCP: an error
 * result contains the terms, and `_meta` contains the payment and the settlement. It verifies the
 * payment, runs the tool, then settles. So a failed tool is not paid, and no answer is unpaid.
 */
export function withX402(server: McpServer, seller: x402ResourceServer) {
  return {
    paidTool({ name, description, price, run }: PaidTool): void {
      const { network, payTo, asset, amount } = price;
      const termsOf = async (error?: string): Promise<PaymentRequired> => {
        const accepts = await seller.buildPaymentRequirements({
          ...{ scheme: 'exact', network, payTo, price: { asset, amount } },
        });
        return seller.createPaymentRequiredResponse(
          accepts,
          { url: `mcp://tool/${name}`, description, mimeType: 'text/plain' },
          error,
        );
      };
      server.registerTool(
        name,
        { description, inputSchema: INPUT },
        async ({ query }, { mcpReq }: ServerContext): Promise<CallToolResult> => {
          const payment = paymentIn(mcpReq._meta);
          const terms = await termsOf();
          if (payment === undefined) return asks(terms);
          const asked = seller.findMatchingRequirements([...terms.accepts], payment);
          if (asked === undefined) return asks(await termsOf('The payment is for other terms.'));
          const { isValid, invalidReason } = await seller.verifyPayment(payment, asked);
          if (!isValid) return asks(await termsOf(invalidReason));
          const text = await run(query);
          const settlement = await seller.settlePayment(payment, asked);
          if (!settlement.success) return asks(await termsOf(settlement.errorReason));
          return {
            content: [{ type: 'text', text }],
            _meta: { 'x402/payment-response': settlement },
          };
        },
      );
    },
  };
}

function asks(terms: PaymentRequired): CallToolResult {
  return {
    isError: true,
    structuredContent: { ...terms },
    content: [{ type: 'text', text: JSON.stringify(terms) }],
  };
}

/** Returns the payment that a buyer sent; the facilitator verifies it. */
function paymentIn(meta: object | undefined): PaymentPayload | undefined {
  const payment: unknown = Reflect.get(meta ?? {}, 'x402/payment');
  return typeof payment === 'object' && payment !== null && 'payload' in payment
    ? (payment as PaymentPayload)
    : undefined;
}
