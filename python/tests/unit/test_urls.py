"""Requests have the fingerprint that TypeScript gives them, however their URL is spelled."""

from __future__ import annotations

import httpx
import pytest

from exact_change._http.calls import bare

# Each URL as it is given, and `new Request(url).url` of Node.
SPELLINGS = {
    "https://a.test": "https://a.test/",
    "https://a.test?": "https://a.test/?",
    "https://a.test/b?": "https://a.test/b?",
    "https://a.test/b?#c": "https://a.test/b?",
    "https://a.test/b#c?": "https://a.test/b",
    "https://a.test/b'c?d='e'": "https://a.test/b'c?d=%27e%27",
    "https://a.test/b/%2e": "https://a.test/b/",
    "https://a.test/b/%2E%2e/c": "https://a.test/c",
    "https://a.test/b/.%2e": "https://a.test/",
    "https://a.test/%2e%2e/%2e./b": "https://a.test/b",
    "https://a.test/b/%2e%2e%2e/.b": "https://a.test/b/%2e%2e%2e/.b",
    "https://a.test/b/./../c//d/": "https://a.test/c//d/",
    "https://a.test/b%2e?c=%2e%2e/%2e": "https://a.test/b%2e?c=%2e%2e/%2e",
    "https://A.test:443/b c/é?d é|{}`": "https://a.test/b%20c/%C3%A9?d%20%C3%A9|{}`",
}


@pytest.mark.parametrize("given", SPELLINGS)
def test_spells_a_url_as_the_url_standard_does(given: str) -> None:
    assert bare(httpx.URL(given)) == SPELLINGS[given]
