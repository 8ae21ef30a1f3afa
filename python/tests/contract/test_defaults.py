"""What holds without an option holds in TypeScript too, whichever language wrote it down."""

from __future__ import annotations

import json
from typing import Any, Mapping

from exact_change._base.names import snake
from exact_change._config.options import parse_options
from exact_change._policy.periods import PERIODS

from ..spec import ROOT, plain

DEFAULTS: Mapping[str, Any] = json.loads((ROOT / "spec" / "defaults.json").read_text())
RELAYER = {"url": "https://relayer.example.com"}
CONFIG = parse_options({"wallet_seed": bytes(32), "relayer": RELAYER})


def texts(value: Any) -> Any:
    """With numbers as text: TypeScript's large integers are that in JSON."""
    if isinstance(value, Mapping):
        return {key: texts(one) for key, one in value.items()}
    if isinstance(value, list):
        return [texts(one) for one in value]
    return str(value) if type(value) is int else value


def test_a_client_has_the_defaults_of_typescript() -> None:
    had = {name: texts(plain(getattr(CONFIG, snake(name)))) for name in DEFAULTS["client"]}
    assert had["relayer"].pop("url") == RELAYER["url"]
    assert had == texts(DEFAULTS["client"])


def test_a_policy_has_the_defaults_of_typescript() -> None:
    rules: Any = texts(plain(CONFIG.policy))
    rules.update(rules.pop("caps"))
    wanted: Any = texts(DEFAULTS["policy"])
    for cap in wanted["caps"]:
        cap["name"] = snake(cap["name"])
    assert rules == wanted


def test_periods_are_those_of_typescript() -> None:
    # JSON has no absence: no window is for ever.
    assert {**DEFAULTS["periods"], "total": None} == PERIODS
