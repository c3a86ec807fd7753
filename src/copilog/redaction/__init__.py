"""Find secrets and personal names in texts, and replace them by placeholders.

    findings.py        what is found: a place, its kind, the evidence
    scanning.py        find(text): all detectors, and the encoded pieces of a text decoded
    provider_tokens.py tokens of providers, by the long words of a text; providers.py has their formats
    keys.py            private keys
    context.py         values that names, headers, addresses and options show to be secret
    secret_names.py    which names show that
    personal.py        e-mail addresses, users in home paths, hosts, words that the config lists
    encodings.py       Base64, percent-encoding and escapes of JSON
    walking.py         every text of a conversation, of whatever kind
    redactor.py        placeholders, and findings that are cut by the border of two texts

    redactor = Redactor(private)
    shared = redactor.value(conversation)
    redactor.counts                              by kind

What is found are known shapes. Whether nothing private is left, no program can know: see `notice.py`.
"""

from __future__ import annotations

from copilog.redaction.findings import Finding, leaves_of
from copilog.redaction.personal import Private
from copilog.redaction.redactor import Place, Redactor, places_in_value
from copilog.redaction.scanning import NOBODY, find, find_in_each
from copilog.redaction.walking import NotRedacted, leaves_in, walk

__all__ = [
    "NOBODY",
    "Finding",
    "NotRedacted",
    "Place",
    "Private",
    "Redactor",
    "find",
    "find_in_each",
    "leaves_in",
    "leaves_of",
    "places_in_value",
    "walk",
]
