"""Checks webhooks at their receiver."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import re
from typing import Any, Iterable, Mapping, NamedTuple, Sequence, cast

from typing_extensions import Literal, Protocol

from ._base.js import SURROGATE, parse_json, utf16_length
from ._base.json_types import is_integer, is_list, is_number, is_record
from ._base.options import refuse
from ._base.runtime import system_runtime
from ._spec import table
from .errors import ExactChangeError, failure

__all__ = ["WebhookEvent", "WebhookEventName", "verify"]

WebhookEventName = Literal[
    "swap.confirmed", "swap.failed", "payment.settled", "payment.failed", "payment.uncertain"
]
_spec: Mapping[str, Any] = table("webhooks")
_EVENTS: Mapping[str, Any] = _spec["events"]
_PREFIX = "whsec_"
_MIN_KEY_BYTES, _MAX_KEY_BYTES = 24, 64
_MAX_SECRET = 128
_MAX_SECRETS = 10
_MAX_TOLERANCE_SECONDS = 86_400


class Headers(Protocol):
    """Headers with an ``items`` method, such as mappings and the messages of ``http.server``."""

    def items(self) -> Iterable[tuple[str, Any]]: ...


class WebhookEvent(NamedTuple):
    """An event of a payment, or of a swap for a payment."""

    # A repeated delivery has the same id.
    id: str
    type: WebhookEventName
    # When the event was put on record, in ISO 8601.
    timestamp: str
    # The data as they came: names in camelCase, amounts as decimal strings of base units.
    data: Mapping[str, Any]


def verify(
    *,
    headers: Headers,
    body: str | bytes,
    secret: str | None = None,
    secrets: Sequence[str] | None = None,
    tolerance_seconds: int = 300,
    now: float | None = None,
) -> WebhookEvent:
    """Checks that a webhook's sender knows the secret, and that it is recent; returns the event.

    Answer 2xx only after you have put the event on record by its ``id``. A repeated delivery has
    the same ``id``. ``body`` is the unparsed body of the request, as text or bytes. ``secret`` is
    the secret of the endpoint, from ``register``; or give several ``secrets``, while a new secret
    replaces an old secret. ``tolerance_seconds`` are the seconds by which the message's time may
    differ from ``now``, either way. ``now`` is in milliseconds since the epoch; default: the
    system's clock.

    Raises ``TransportError`` (``invalid_response``, ``details["service"]`` is ``webhook``) if the
    message cannot be trusted, or its kind is unknown: answer it with 400. Raises ``ConfigError``
    (``invalid_option``) if the arguments are wrong.

    >>> event = verify(secret=secret, headers=request.headers, body=await request.body())
    >>> if event.type == "payment.settled":
    ...     print(event.data["signature"])
    """
    tolerance: object = tolerance_seconds
    if not is_integer(tolerance) or not 0 <= tolerance <= _MAX_TOLERANCE_SECONDS:
        most = _MAX_TOLERANCE_SECONDS
        raise refuse("tolerance_seconds", f"must be a whole number from 0 to {most}.")
    moment: object = system_runtime.now() if now is None else now
    if not is_number(moment):
        raise refuse("now", "must be milliseconds since the epoch.")
    keys = _read_secrets(secret, secrets)
    if not callable(getattr(headers, "items", None)):
        raise refuse("headers", "must be a mapping of names and values.")
    if not isinstance(cast("object", body), (str, bytes, bytearray)):
        raise refuse(
            "body",
            "must be the body as it came, its text or its bytes: what was parsed cannot be "
            "checked.",
        )
    message = {name: _header(headers, name, shape) for name, shape in _spec["headers"].items()}
    return _verified(message, body, keys, tolerance_seconds, moment)


# What is wrong with a header that has not its shape.
_LACKS = {
    "webhook-id": "webhook-id is no id of an event",
    "webhook-timestamp": "webhook-timestamp is no time in seconds",
    "webhook-signature": "webhook-signature is no list of signatures",
}


def _verified(
    headers: Mapping[str, str],
    body: str | bytes,
    keys: Sequence[bytes],
    tolerance_seconds: int,
    now: float,
) -> WebhookEvent:
    id_, timestamp = headers["webhook-id"], headers["webhook-timestamp"]
    age = int(now // 1000) - int(timestamp)
    if age > tolerance_seconds:
        raise _unverified("webhook-timestamp is too long ago: it may be a copy that is sent again")
    if age < -tolerance_seconds:
        raise _unverified("webhook-timestamp is in the future: set the clocks of both sides")
    data = _bytes_of(body)
    signatures = headers["webhook-signature"].split(" ")
    # Compare every pair, so that the time does not show which secret or signature matched.
    matches = [
        hmac.compare_digest(signature.encode(), _signature_of(key, f"{id_}.{timestamp}.", data))
        for key in keys
        for signature in signatures
    ]
    if not any(matches):
        raise _unverified("no signature is of this body and a secret that is known here")
    return _read_event(id_, data)


def _signature_of(key: bytes, head: str, data: bytes) -> bytes:
    """Returns the signature of a message, as in Standard Webhooks (version ``v1``).

    It is the HMAC of the message's id, time in seconds and body.
    """
    digest = hmac.new(key, head.encode() + data, hashlib.sha256).digest()
    return b"v1," + base64.b64encode(digest)


def _read_secrets(secret: object, secrets: object) -> list[bytes]:
    if (secret is None) == (secrets is None):
        raise refuse("secret", "must be given, or else secrets.")
    option = "secret" if secrets is None else "secrets"
    value: object = [secret] if secrets is None else secrets
    given = list(cast("tuple[object, ...]", value)) if isinstance(value, tuple) else value
    if not is_list(given) or not 1 <= len(given) <= _MAX_SECRETS:
        raise refuse(option, f"must be a list of 1 to {_MAX_SECRETS} secrets.")
    keys = [_key_of(text) for text in given]
    valid = [key for key in keys if key is not None]
    if len(valid) < len(keys):
        raise refuse(
            option,
            "must be whsec_ and the base64 of 24 to 64 bytes, as register gave it.",
        )
    return valid


def _key_of(secret: object) -> bytes | None:
    """Returns the key of a secret; None if Standard Webhooks do not allow the secret."""
    if not isinstance(secret, str) or len(secret) > _MAX_SECRET:
        return None
    text = secret[len(_PREFIX) :] if secret.startswith(_PREFIX) else secret
    try:
        key = base64.b64decode(text.encode("ascii"), validate=True)
    except (binascii.Error, UnicodeEncodeError):
        return None
    is_canonical = base64.b64encode(key).decode() == text
    return key if is_canonical and _MIN_KEY_BYTES <= len(key) <= _MAX_KEY_BYTES else None


def _header(headers: Headers, name: str, shape: Mapping[str, Any]) -> str:
    """Reads a header. It raises if the header is missing or there twice."""
    get_list: Any = getattr(headers, "get_list", None)
    values: list[Any]
    if callable(get_list):
        values = list(cast("Sequence[Any]", get_list(name)))
    else:
        values = [
            value
            for key, value in headers.items()
            if str(key).lower() == name and value is not None
        ]
    if not values or values[0] == "":
        raise _unverified(f"{name} is missing")
    value = values[0]
    if len(values) > 1 or not isinstance(value, str):
        raise _unverified(f"{name} is there more than once")
    if not _has_shape(value, shape):
        raise _unverified(_LACKS[name])
    return value


def _bytes_of(body: str | bytes) -> bytes:
    size = utf16_length(body) if isinstance(body, str) else len(body)
    if size > _spec["maxBodyBytes"]:
        raise _unverified("the body is larger than any that is sent")
    if isinstance(body, str):
        # A lone surrogate has no UTF-8, so it would be signed as another character.
        if SURROGATE.search(body) is not None:
            raise _unverified("the body is no UTF-8")
        return body.encode()
    try:
        body.decode()
    except UnicodeDecodeError:
        raise _unverified("the body is no UTF-8") from None
    return bytes(body)


def _read_event(id_: str, data: bytes) -> WebhookEvent:
    try:
        body = parse_json(data.decode())
    except ValueError:
        body = None
    if not is_record(body):
        raise _unverified("the body is no JSON of an event")
    type_, timestamp, about = body.get("type"), body.get("timestamp"), body.get("data")
    if isinstance(type_, str) and type_ not in _EVENTS:
        raise _unverified("the event is of a kind that this version does not know: update it")
    fields = _EVENTS.get(type_) if isinstance(type_, str) else None
    lacking = _unverified("the event lacks what its kind has to say")
    if fields is None or not is_record(about) or not _has_shape(timestamp, _spec["timestamp"]):
        raise lacking
    needs = all(_has_shape(about.get(name), shape) for name, shape in fields["needs"].items())
    allows = all(
        name not in about or _has_shape(about[name], shape)
        for name, shape in fields["allows"].items()
    )
    if not needs or not allows or not isinstance(timestamp, str):
        raise lacking
    return WebhookEvent(id_, cast("WebhookEventName", type_), timestamp, about)


def _has_shape(value: object, shape: Mapping[str, Any]) -> bool:
    """Whether a value is a text of a shape."""
    if not isinstance(value, str) or utf16_length(value) > shape["maxLength"]:
        return False
    pattern = shape.get("pattern")
    # The pattern matches the whole text. It uses only syntax that every dialect of expressions has.
    return pattern is None or re.fullmatch(pattern[1:-1], value) is not None


def _unverified(reason: str) -> ExactChangeError:
    return failure(
        "invalid_response",
        f"The webhook was not accepted: {reason}. Answer it with 400, and do nothing that it says.",
        {"service": "webhook", "reason": reason},
        retry="never",
    )
