import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { address, getAddressDecoder } from '@solana/kit';
import { createClient, receiptOf, type Signer } from 'exact-change';
import {
  addressOfPublicKey,
  awsKmsSigner,
  googleKmsSigner,
  turnkeySigner,
} from 'exact-change/signers/kms';
import { type LedgerSolanaApp, ledgerSigner } from 'exact-change/signers/ledger';
import { type AdaptedWallet, walletAdapterSigner } from 'exact-change/wallet-adapter';
import { createSandbox, type Sandbox } from 'exact-change-sandbox';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { failureOf } from '../helpers/payer.js';
import { MAINNET_SLOT_MS } from '../helpers/sandbox.js';

/** Loaders of the real packages; the interfaces below declare the used parts. */
const packages = (await import(
  pathToFileURL(join(inject('packed').doors, 'load.mjs')).href
)) as Readonly<Record<string, (() => Promise<unknown>) | undefined>>;
async function load<T>(name: string): Promise<T> {
  return (await packages[name]?.()) as T;
}

let sandbox: Sandbox;
beforeAll(async () => {
  sandbox = await createSandbox({ slotMs: MAINNET_SLOT_MS, confirmationMs: 20 });
});
afterAll(() => sandbox.close());

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

/** Makes a key for a simulated cloud or device. */
function newKey(): { readonly key: KeyObject; readonly address: string; readonly spki: Buffer } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return { key: privateKey, address: getAddressDecoder().decode(spki.subarray(-32)), spki };
}

/** Pays a USDC price from BONK, so that the signer signs a swap and a payment. */
async function paysWith(signer: Signer): Promise<void> {
  const owner = address(signer.address);
  sandbox.chain.fundSol(owner, 500_000_000n);
  await sandbox.chain.fundToken(owner, sandbox.mints.BONK, 50_000_000_000n);
  const { rpcUrl, wsUrl, jupiterUrl } = sandbox;
  const client = createClient({ signer, rpcUrl, wsUrl, jupiterUrl, autoSwap: true });
  const response = await client.fetch(`${sandbox.apiUrl}/usdc`);
  expect(response.status).toBe(200);
  expect(receiptOf(response)).toMatchObject({
    payment: { payer: signer.address, amount: '10000' },
    swap: { outputMint: sandbox.mints.USDC.address },
  });
  await client.close();
}

/** Starts a JSON server on the loopback, which plays a cloud. */
async function cloud(
  answer: (body: Readonly<Record<string, string>>, path: string) => unknown,
): Promise<{ readonly url: string; readonly port: number }> {
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const body = JSON.parse(text) as Readonly<Record<string, string>>;
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(answer(body, request.url ?? '')));
    });
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  return { url: `http://127.0.0.1:${bound.port}`, port: bound.port };
}

describe('a cloud key through its own SDK', () => {
  it('swaps and pays with AWS KMS', async () => {
    const { key, spki } = newKey();
    const requests: unknown[] = [];
    const { url } = await cloud((body) => {
      const { Message = '', ...rest } = body;
      requests.push(rest);
      return 'Message' in body
        ? { Signature: sign(null, Buffer.from(Message, 'base64'), key).toString('base64') }
        : { PublicKey: spki.toString('base64') };
    });
    const { KMSClient, SignCommand, GetPublicKeyCommand } = await load<Aws>('aws');
    const kms = new KMSClient({
      endpoint: url,
      region: 'us-east-1',
      credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    });
    const { PublicKey } = await kms.send(new GetPublicKeyCommand({ KeyId: 'alias/agent' }));
    const signer = awsKmsSigner({
      address: addressOfPublicKey(PublicKey ?? ''),
      keyId: 'alias/agent',
      sign: (input) => kms.send(new SignCommand(input)),
    });
    await paysWith(signer);
    expect(requests.at(-1)).toEqual({
      KeyId: 'alias/agent',
      MessageType: 'RAW',
      SigningAlgorithm: 'ED25519_SHA_512',
    });
  });

  it('swaps and pays with Google Cloud KMS', async () => {
    const { key, spki } = newKey();
    const name = 'projects/p/locations/l/keyRings/r/cryptoKeys/k/cryptoKeyVersions/1';
    const { port } = await cloud(({ data = '' }, path) => {
      expect(path).toContain(`${name}:asymmetricSign`);
      return { name, signature: sign(null, Buffer.from(data, 'base64'), key).toString('base64') };
    });
    const { KeyManagementServiceClient } = await load<Google>('google');
    const kms = new KeyManagementServiceClient({
      fallback: true,
      protocol: 'http',
      apiEndpoint: '127.0.0.1',
      port,
      // Plays an authenticated client.
      auth: {
        getRequestHeaders: () => Promise.resolve(new Headers()),
        fetch: (url: string, init: RequestInit) => fetch(url, init),
      },
    });
    const pem = createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString();
    expect(addressOfPublicKey(pem)).toBe(addressOfPublicKey(spki));
    await paysWith(
      googleKmsSigner({
        address: addressOfPublicKey(pem),
        name,
        sign: async (request) => (await kms.asymmetricSign(request))[0],
      }),
    );
  });

  it('swaps and pays with Turnkey', async () => {
    const { key, address: owner } = newKey();
    const { url } = await cloud((body) => {
      const { parameters } = body as unknown as { parameters: Readonly<Record<string, string>> };
      expect(parameters).toMatchObject({
        signWith: owner,
        encoding: 'PAYLOAD_ENCODING_HEXADECIMAL',
        hashFunction: 'HASH_FUNCTION_NOT_APPLICABLE',
      });
      const signature = sign(null, Buffer.from(parameters['payload'] ?? '', 'hex'), key);
      // Turnkey returns hex numbers without leading zeros.
      const [r, s] = [signature.subarray(0, 32), signature.subarray(32)].map((half) =>
        half.toString('hex').replace(/^0+/, ''),
      );
      const result = { signRawPayloadResult: { r, s, v: '00' } };
      return { activity: { status: 'ACTIVITY_STATUS_COMPLETED', result } };
    });
    const { TurnkeyClient } = await load<Turnkey>('turnkey');
    const { ApiKeyStamper } = await load<Stamper>('stamper');
    const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { d = '' } = pair.privateKey.export({ format: 'jwk' });
    const { x = '', y = '' } = pair.publicKey.export({ format: 'jwk' });
    const odd = (Buffer.from(y, 'base64url').at(-1) ?? 0) & 1;
    const client = new TurnkeyClient(
      { baseUrl: url },
      new ApiKeyStamper({
        apiPublicKey: `0${2 + odd}${Buffer.from(x, 'base64url').toString('hex')}`,
        apiPrivateKey: Buffer.from(d, 'base64url').toString('hex'),
      }),
    );
    const signer = turnkeySigner({
      address: owner,
      sign: async (parameters) => {
        const { activity } = await client.signRawPayload({
          type: 'ACTIVITY_TYPE_SIGN_RAW_PAYLOAD_V2',
          timestampMs: String(Date.now()),
          organizationId: 'o',
          parameters,
        });
        return activity.result.signRawPayloadResult;
      },
    });
    await paysWith(signer);
    // Every 128th signature has a half with a leading zero; each must be restored exactly.
    const intent = { kind: 'swap', network: '', inputMint: '', outputMint: '' } as const;
    for (let n = 0; n < 600; n += 1) {
      const message = Uint8Array.of(n & 255, n >> 8);
      const amounts = { maxInAmount: '', minOutAmount: '' };
      const signature = await turnkeySigner({
        address: owner,
        sign: ({ payload }) => {
          const made = sign(null, Buffer.from(payload, 'hex'), key).toString('hex');
          const [r, s] = [made.slice(0, 64), made.slice(64)].map((half) => half.replace(/^0+/, ''));
          return Promise.resolve({ r: r ?? '', s: s ?? '' });
        },
      }).signMessage(message, { ...intent, ...amounts });
      expect(Buffer.from(signature).equals(sign(null, message, key))).toBe(true);
    }
  });

  it.each(['', 'no key', new Uint8Array(44), newEcKey()])(
    'is refused when it is not an Ed25519 key: case %#',
    (key) => {
      expect(() => addressOfPublicKey(key)).toThrow(/Ed25519/);
    },
  );
});

function newEcKey(): string {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return publicKey.export({ type: 'spki', format: 'pem' }).toString();
}

describe('a Ledger device through its own package', () => {
  /** Plays the Solana app: APDUs of up to 255 bytes, and the last APDU signs. */
  async function device(blindSigning: boolean): Promise<LedgerSolanaApp & { address: string }> {
    const { key, address: owner, spki } = newKey();
    const { default: Transport } = await load<Transports>('transport');
    const { default: Solana } = await load<Ledger>('ledger');
    let chunks: Buffer[] = [];
    class Device extends Transport {
      exchange(apdu: Buffer): Promise<Buffer> {
        const [, instruction, , p2 = 0] = apdu;
        const ok = (data: Buffer) => Promise.resolve(Buffer.concat([data, Buffer.of(0x90, 0)]));
        if (instruction === 0x05) return ok(spki.subarray(-32));
        chunks.push(apdu.subarray(5));
        if ((p2 & 0x02) !== 0) return ok(Buffer.alloc(0));
        // A derivation path with its length, and then the message.
        const payload = Buffer.concat(chunks);
        chunks = [];
        const message = payload.subarray(2 + 4 * (payload[1] ?? 0));
        const isShort = message.length < 400;
        if (!blindSigning && !isShort) return Promise.resolve(Buffer.of(0x68, 0x08));
        return ok(sign(null, message, key));
      }
    }
    return Object.assign(new Solana(new Device()), { address: owner });
  }

  it('swaps and pays with blind signing on', async () => {
    await paysWith(await ledgerSigner(await device(true)));
  });

  it('names the setting to turn on when it cannot show a swap, with funds untouched', async () => {
    const error = await failureOf(
      paysWith(await ledgerSigner(await device(false))),
      'signing_failed',
    );
    expect(error.funds).toBe('untouched');
    expect(String(error.cause)).toContain('blind signature');
  });
});

describe('a wallet of wallet-adapter', () => {
  it('swaps and pays with web3.js transactions', async () => {
    const { UnsafeBurnerWalletAdapter } = unwrap(await load<Burner>('burner'));
    const wallet = new UnsafeBurnerWalletAdapter();
    expect(() => walletAdapterSigner(wallet)).toThrow(/not connected/);
    await wallet.connect();
    await paysWith(walletAdapterSigner(wallet));
  });

  it('is refused when it does not sign transactions of version 0', () => {
    const publicKey = { toBase58: () => sandbox.merchant };
    expect(() => walletAdapterSigner({ publicKey })).toThrow(/version 0/);
    const signTransaction: AdaptedWallet['signTransaction'] = (transaction) =>
      Promise.resolve(transaction);
    const supportedTransactionVersions = new Set(['legacy']);
    const old = { publicKey, signTransaction, supportedTransactionVersions };
    expect(() => walletAdapterSigner(old)).toThrow(/version 0/);
  });
});

/** Returns the inner module of a CommonJS package that nests it below `default`. */
function unwrap<T extends object>(module: T): T {
  const inner: unknown = Reflect.get(module, 'default');
  return typeof inner === 'object' && inner !== null && !('prototype' in inner)
    ? (inner as T)
    : module;
}

type Class<A extends unknown[], T> = new (...args: A) => T;
interface Aws {
  readonly KMSClient: Class<[object], { send<T>(command: { readonly answer: T }): Promise<T> }>;
  readonly SignCommand: Class<[object], { readonly answer: { Signature?: Uint8Array } }>;
  readonly GetPublicKeyCommand: Class<[object], { readonly answer: { PublicKey?: Uint8Array } }>;
}
interface Google {
  readonly KeyManagementServiceClient: Class<
    [object],
    { asymmetricSign(request: object): Promise<[{ signature?: Uint8Array | string | null }]> }
  >;
}
interface Turnkey {
  readonly TurnkeyClient: Class<
    [object, object],
    {
      signRawPayload(input: object): Promise<{
        activity: { result: { signRawPayloadResult: { r: string; s: string } } };
      }>;
    }
  >;
}
interface Stamper {
  readonly ApiKeyStamper: Class<[object], object>;
}
interface Transports {
  readonly default: Class<[], object>;
}
interface Ledger {
  readonly default: Class<[object], LedgerSolanaApp>;
}
interface Burner {
  readonly UnsafeBurnerWalletAdapter: Class<[], AdaptedWallet & { connect(): Promise<void> }>;
}
