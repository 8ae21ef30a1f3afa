import {
  address,
  type Address,
  getAddressDecoder,
  getTransactionDecoder,
  type ReadonlyUint8Array,
} from '@solana/kit';
import {
  type Compiled,
  compile,
  decompile,
  guarded,
  guardOn,
  insert,
  signedWire,
} from '../helpers/changing-wallet.js';

/** Changes that a wallet makes to a transaction before it signs. */
const FORMS = {
  none: (message) => message,
  solflare: (message, wallet) => guarded(message, wallet, { after: 2 }),
  most: (message, wallet) => guarded(message, wallet, { after: 3 }),
  phantom: (message, wallet) => guarded(message, wallet, { before: 3, after: 1 }),
  writes: (message, wallet) =>
    insert(message, message.instructions.length, guardOn(wallet, 'MemoryWrite')),
} satisfies Record<string, (message: Compiled, wallet: Address) => Compiled>;

export type Form = keyof typeof FORMS;

interface Input {
  readonly account: unknown;
  readonly chain?: string;
  readonly transaction: ReadonlyUint8Array;
}

/**
 * Makes a minimal wallet of the Wallet Standard, with a key that never leaves it. It shows its
 * account after `connect`.
 */
export async function testWallet(name: string, form: Form, versions = ['legacy', 0]) {
  const keys = await crypto.subtle.generateKey('Ed25519', false, ['sign', 'verify']);
  const publicKey = new Uint8Array(await crypto.subtle.exportKey('raw', keys.publicKey));
  const owner = address(getAddressDecoder().decode(publicKey));
  const signer = {
    address: owner,
    signMessage: async (message: Uint8Array) =>
      new Uint8Array(
        await crypto.subtle.sign('Ed25519', keys.privateKey, Uint8Array.from(message)),
      ),
  };
  const account = {
    address: owner,
    publicKey,
    chains: ['solana:mainnet'] as const,
    features: ['solana:signTransaction'] as const,
  };
  const accounts: (typeof account)[] = [];
  const asked: (string | undefined)[] = [];
  return {
    version: '1.0.0',
    name,
    icon: 'data:image/svg+xml;base64,PHN2Zy8+',
    chains: ['solana:mainnet'],
    accounts,
    /** The chain of each request to sign. */
    asked,
    features: {
      'standard:connect': {
        version: '1.0.0',
        connect() {
          if (accounts.length === 0) accounts.push(account);
          return Promise.resolve({ accounts });
        },
      },
      'standard:events': { version: '1.0.0', on: () => () => undefined },
      'solana:signTransaction': {
        version: '1.0.0',
        supportedTransactionVersions: versions,
        async signTransaction({ account: of, chain, transaction }: Input) {
          if (of !== account) throw new Error('not an account of this wallet');
          asked.push(chain);
          const { messageBytes } = getTransactionDecoder().decode(transaction);
          const message = compile(FORMS[form](decompile(messageBytes), owner));
          const intent = { kind: 'payment', network: '', mint: '', amount: '', payTo: '', url: '' };
          return [
            {
              signedTransaction: await signedWire(signer, message, { ...intent, kind: 'payment' }),
            },
          ];
        },
      },
    },
  };
}
