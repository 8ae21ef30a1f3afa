import { createRequire } from 'node:module';

// Copied beside the packages: they are found from here, and loaded when a test asks for them.
const require = createRequire(import.meta.url);

export const aws = () => import('@aws-sdk/client-kms');
export const google = () => import('@google-cloud/kms');
// Their ES modules name files without extensions, which Node does not find.
export const ledger = async () => require('@ledgerhq/hw-app-solana');
export const transport = async () => require('@ledgerhq/hw-transport');
export const burner = () => import('@solana/wallet-adapter-unsafe-burner');
export const turnkey = () => import('@turnkey/http');
export const stamper = () => import('@turnkey/api-key-stamper');
