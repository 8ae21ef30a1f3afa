"""Defaults of options, which both languages share."""

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
    """Returns a value with its integers as text, because a bigint of TypeScript is text in JSON."""
    if isinstance(value, Mapping):
        return {key: texts(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [texts(entry) for entry in value]
    return str(value) if type(value) is int else value


def test_gives_a_client_the_defaults_of_typescript() -> None:
    defaults = {name: texts(plain(getattr(CONFIG, snake(name)))) for name in DEFAULTS["client"]}
    assert defaults["relayer"].pop("url") == RELAYER["url"]
    assert defaults == texts(DEFAULTS["client"])


def test_gives_a_policy_the_defaults_of_typescript() -> None:
    rules: Any = texts(plain(CONFIG.policy))
    rules.update(rules.pop("caps"))
    wanted: Any = texts(DEFAULTS["policy"])
    for cap in wanted["caps"]:
        cap["name"] = snake(cap["name"])
    assert rules == wanted


def test_has_the_periods_of_typescript() -> None:
    # JSON leaves out the period without a window, "total".
    assert {**DEFAULTS["periods"], "total": None} == PERIODS
