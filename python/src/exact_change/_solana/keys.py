"""Keys and signatures. A key lives only in a closure, never in an object that a log may show."""

from __future__ import annotations

import json
import re
from typing import Awaitable, Callable, Union, cast

from solders.keypair import Keypair
from solders.pubkey import Pubkey
from solders.signature import Signature
from typing_extensions import Literal, Protocol, TypedDict, TypeGuard

from .._base.json_types import is_integer, is_list
from .._base.text import trim
from ..errors import ExactChangeError, failure
from .address import Address, base58_decode, is_address

_SEED_BYTES = 32
_KEYPAIR_BYTES = 64
# The most characters of a key: 64 numbers of three digits, with spaces and line breaks.
_MAX_TEXT = 1024
_BASE58_KEY = re.compile("[1-9A-HJ-NP-Za-km-z]{32,88}")


class SigningIntent(TypedDict, total=False):
    """A description of what a signer is asked to sign. Amounts are decimal strings of base units.

    It is for people, hardware wallets and server logs.
    """

    kind: Literal["payment", "swap"]
    network: str
    # Fields of a payment.
    mint: str
    amount: str
    pay_to: str
    url: str
    # Fields of a swap.
    input_mint: str
    max_in_amount: str
    output_mint: str
    min_out_amount: str


class Signer(Protocol):
    """Signs for one wallet.

    The message is a serialized v0 message with its version byte. The answer is the 64-byte Ed25519
    signature of exactly these bytes. For an ``AsyncClient``, the method may be a coroutine
    function.
    """

    @property
    def address(self) -> str:
        """The wallet, base58."""
        ...

    def sign_message(self, message: bytes, intent: SigningIntent) -> bytes | Awaitable[bytes]:
        """Returns the signature of these bytes."""
        ...


class TransactionSigner(Protocol):
    """Signs transactions for one wallet, as wallet apps do.

    The input is a serialized v0 transaction without the wallet's signature; the answer is the
    signed transaction. The wallet may add instructions that only check balances. Any other change
    is refused, and nothing is sent. A signer with both methods is asked to sign transactions.
    """

    @property
    def address(self) -> str:
        """The wallet, base58."""
        ...

    def sign_transaction(
        self, transaction: bytes, intent: SigningIntent
    ) -> bytes | Awaitable[bytes]:
        """Returns the signed transaction."""
        ...


AnySigner = Union[Signer, TransactionSigner]


def signs_transactions(signer: AnySigner) -> TypeGuard[TransactionSigner]:
    """Whether the signer is asked to sign transactions, not messages."""
    return callable(getattr(signer, "sign_transaction", None))


class KeySigner:
    """A signer that this module made: it signs exactly the bytes that it gets, in this process."""

    __slots__ = ("address", "sign")

    def __init__(self, address: Address, sign: Callable[[bytes], bytes]) -> None:
        self.address = address
        self.sign = sign

    def sign_message(self, message: bytes, intent: SigningIntent) -> bytes:
        """Returns the signature of these bytes."""
        return self.sign(message)

    def __repr__(self) -> str:
        return f"KeySigner({self.address})"

    def __reduce__(self) -> str:
        raise TypeError("A signer is not pickled: it has a key.")


def key_signer(secret: object) -> KeySigner:
    """Creates a signer for a secret key: base58 text, the text of a JSON array, bytes, or numbers.

    The key has 64 bytes, and its second half must be the public key of the first half. A key of 32
    bytes is refused, because it may be an address: a seed that is an address is public. Raises
    ``ConfigError`` (``invalid_key``), which quotes no part of the secret.
    """
    # The keypair is made in another frame, so that a traceback with this frame's values has none.
    return _signer_of(_read_keypair(secret))


def seed_signer(seed: object) -> KeySigner:
    """Creates a signer as :func:`key_signer` does, for the 32-byte seed of a keypair."""
    if not isinstance(seed, (bytes, bytearray)) or len(seed) != _SEED_BYTES:
        raise _invalid(
            "wallet_seed is not 32 bytes",
            "Give the seed as those bytes, or the whole key as wallet_secret_key.",
        )
    return _signer_of(bytes(seed))


def _signer_of(seed: bytes) -> KeySigner:
    pair = Keypair.from_seed(seed)
    sign = pair.sign_message
    return KeySigner(str(pair.pubkey()), lambda message: bytes(sign(message)))


def is_good_signature(signer: AnySigner, message: bytes, signature: object) -> bool:
    """Whether a signature is valid.

    A signer of this module signs the bytes that it gets, so only the length is checked; any other
    signer's signature is verified.
    """
    if not isinstance(signature, bytes):
        return False
    if isinstance(signer, KeySigner):
        return len(signature) == _KEYPAIR_BYTES
    return verify_signature(message, signature, signer.address)


def verify_signature(message: bytes, signature: bytes, address: Address) -> bool:
    """Whether the address signed exactly these bytes, as strictly as the network checks it."""
    if len(signature) != _KEYPAIR_BYTES or not is_address(address):
        return False
    return Signature(signature).verify(Pubkey.from_string(address), message)


def signature_text(signature: bytes) -> str:
    return str(Signature(signature))


def _read_keypair(secret: object) -> bytes:
    """Reads a keypair, checks that its halves match, and returns its seed."""
    data = _read_text(trim(secret)) if isinstance(secret, str) else _read_bytes(secret)
    if data is None:
        raise _invalid("it is neither base58 text, nor a JSON array of bytes, nor bytes")
    if len(data) == _SEED_BYTES:
        raise _invalid(
            f"it is {_SEED_BYTES} bytes long, as an address is, and a seed",
            "Give all 64 bytes of the key; a seed goes into wallet_seed, as bytes.",
        )
    if len(data) != _KEYPAIR_BYTES:
        raise _invalid(f"it is {len(data)} bytes long, not {_KEYPAIR_BYTES}")
    seed = data[:_SEED_BYTES]
    if bytes(Keypair.from_seed(seed).pubkey()) != data[_SEED_BYTES:]:
        raise _invalid("its second half is not the public key of its first half")
    return seed


def _read_text(text: str) -> bytes | None:
    if len(text) > _MAX_TEXT:
        return None
    if _BASE58_KEY.fullmatch(text) is not None:
        return base58_decode(text)
    try:
        return _read_bytes(json.loads(text))
    except (ValueError, RecursionError):
        # The parser's own error quotes the text, so it is neither raised nor kept as a cause.
        return None


def _read_bytes(value: object) -> bytes | None:
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    items: object = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
    if not is_list(items) or len(items) > _KEYPAIR_BYTES:
        return None
    if not all(is_integer(item) and 0 <= item <= 255 for item in items):
        return None
    return bytes(items)


def _invalid(
    reason: str, following: str = "Give the 64 bytes of a keypair: as base58, JSON, or bytes."
) -> ExactChangeError:
    return failure(
        "invalid_key", f"The secret key cannot be used: {reason}. {following}", {"reason": reason}
    )
