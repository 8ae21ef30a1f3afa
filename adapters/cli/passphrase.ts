import { createReadStream } from 'node:fs';
import { text as readAll } from 'node:stream/consumers';
import { ConfigError } from 'exact-change';
import { Interrupted } from './interrupt.js';
import { askSecret, type Terminal } from './terminal.js';

const LEAST_LENGTH = 8;

/** Sources of a passphrase, in this order: a file descriptor, the environment, the person. */
export interface PassphraseSource {
  readonly terminal: Terminal;
  readonly fd: number | undefined;
}

/** Returns the passphrase of an existing wallet. */
export async function readPassphrase(source: PassphraseSource, address: string): Promise<string> {
  return (
    (await suppliedPassphrase(source)) ??
    ask(source.terminal, `Passphrase of the wallet ${address}`)
  );
}

/** Returns a passphrase for a new wallet. A person types it twice. */
export async function newPassphrase(source: PassphraseSource): Promise<string> {
  const { terminal } = source;
  const passphrase = (await suppliedPassphrase(source)) ?? (await askTwice(terminal));
  if (passphrase.length < LEAST_LENGTH)
    throw unusable(`it has fewer than ${LEAST_LENGTH} characters`, 'Take a longer one.');
  return passphrase;
}

async function suppliedPassphrase({ terminal, fd }: PassphraseSource): Promise<string | undefined> {
  if (fd === undefined) return terminal.env['EXACT_CHANGE_PASSPHRASE'] || undefined;
  const text = await readAll(createReadStream('', { fd, encoding: 'utf8' }));
  // Take the first line only, because most programs end the passphrase with a line break.
  return text.replace(/\r?\n[^]*$/, '');
}

async function askTwice(terminal: Terminal): Promise<string> {
  const passphrase = await ask(terminal, 'Passphrase for the new wallet');
  if (passphrase !== (await ask(terminal, 'The same again')))
    throw unusable('the two are not the same', 'Try again.');
  return passphrase;
}

async function ask(terminal: Terminal, message: string): Promise<string> {
  if (!terminal.canAsk)
    throw unusable(
      'there is no terminal to ask for it on',
      'Give it by --passphrase-fd, or as EXACT_CHANGE_PASSPHRASE.',
    );
  const answer = await askSecret(terminal, message);
  if (answer === undefined) throw new Interrupted();
  return answer;
}

function unusable(reason: string, next: string): ConfigError {
  return new ConfigError('invalid_key', `No passphrase: ${reason}. ${next}`, {
    details: { reason },
  });
}
