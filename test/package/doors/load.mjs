import { createRequire } from 'node:module';

// Copied beside the packages, so that Node finds them; a test loads a package when it needs it.
const require = createRequire(import.meta.url);

export const aws = () => import('@aws-sdk/client-kms');
export const google = () => import('@google-cloud/kms');
// Ledger's ES modules import files without extensions, which Node does not find.
export const ledger = async () => require('@ledgerhq/hw-app-solana');
export const transport = async () => require('@ledgerhq/hw-transport');
export const burner = () => import('@solana/wallet-adapter-unsafe-burner');
export const turnkey = () => import('@turnkey/http');
export const stamper = () => import('@turnkey/api-key-stamper');
