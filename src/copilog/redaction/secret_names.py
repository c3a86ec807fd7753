"""Which names say that a value is secret, and which values can be one."""

from __future__ import annotations

import re

from copilog.redaction.checksums import entropy

_STRONG = re.compile(r"(?:passw(?:or)?d|passwort|passphrase|pwd|passwd|pass|secret|_auth|credentials?)")
_TOKEN_NAME = re.compile(
    r"(?:[a-z0-9]*?)(?:api|access|auth|bearer|refresh|id|session|secret|private|oauth|personal|bot|deploy|csrf|xsrf|"
    r"jwt|user|service|client|github|gitlab|npm|slack|registry|account|app|security|admin|webhook|verification|signing|"
    r"pat)?token"
)
_KEY_NAME = re.compile(
    r"[a-z0-9]*(?:api|access|private|secret|encryption|signing|account|master|license|auth|shared|sharedaccess|storage"
    r"account|client|consumer|service|subscription|deploy|webhook|app|application|admin|root|hmac|aes|crypto|cipher|"
    r"session|primary|ssh)key(?:id)?"
)
_PLAINLY = frozenset({"token", "auth", "authorization", "apikey", "tokens", "pat", "sas", "cookie"})
_COUNTS = re.compile(
    r"(?:max|min|num|total|count|input|output|prompt|completion|cached?|next|page|continuation|sync|"
    r"cancellation|cancel|usage|used|budget|limit|special|eos|bos|pad|unk|sep|mask|stop|start|end|text|keyword)tokens?"
)

# Values that stand for one: variables, examples, words, code.
_STANDIN = re.compile(
    r"[$%#@<{\[(&*]|(?:your|my|the|some|example|sample|dummy|fake|test|placeholder|change|replace|insert|enter|todo|redacted|"
    r"xxx|\.\.\.|null|none|nil|true|false|undefined|string|number|boolean|process|os|env|self|this|config|settings|args|"
    r"options|props|params|request|req|ctx|context|secrets?|vault|var|getenv|await|new|function|return|import|required|"
    r"optional|default|password|passwd|token|key|api[_-]?key|bearer|basic|value|data|text|input|user|username|login|"
    r"https?:|file:|vscode|\*\*|--|~?/|\.{1,2}/|[a-z]:\\)(?![0-9])",
    re.IGNORECASE,
)  # fmt: skip
_WORDS = r"(?:[A-Za-z][a-z]*|[A-Z]+)(?:[A-Z][a-z]+)*"
_IDENTIFIER = re.compile(rf"[_$]*{_WORDS}(?:[_.-]+{_WORDS})*[0-9]{{0,2}}")
_CODE = re.compile(r"[()\[\]{}<>;=]|\?\w+\.\w|\.\w+\.|::|->|\$\{|\s(?:is|and|or|the|for|of|to|in|not)\s")
_RANDOM = re.compile(r"[A-Za-z0-9_+/=.~!@#$%^&*:-]+")
_PATHLIKE = re.compile(r"(?:\.{0,2}/)?(?:[\w.@-]+/){2,}[\w.@-]*\.[a-z]{1,5}|[\w-]+(?:\.[a-z]{2,5}){1,2}")
_WEAK_PASSWORD = re.compile("[a-z]{6,30}[0-9]{0,4}|[A-Z][a-z]{5,30}[0-9]{1,4}")
_PLACEHOLDER = re.compile(r"redacted-[a-z0-9-]+-[0-9a-f]{8}")

# The most frequent pairs of letters in English text and in names of programs.
_USUAL_PAIRS = frozenset(
    re.findall(
        "..",
        "thheineranreonatenndtiesorteofedisitalarsttontngsehaasouiolevecomedehiriroicneearacelichllbemasiomur"
        "caeltalansdifohopeecprnoctusacotiltrlyncetutsssorsunlowageiewheewiemadolrtpowenaulnitsmoowpaimmiaish"
        "irsuidosiviaamficivipligtuevldrympfeblab",
    )
)
# Of the pairs of random letters 0.18 are usual, of words most: with 0.4, 98 of 100 random texts are found, and 1 of 100
# of the long words of Python libraries is taken for one.
_LEAST_USUAL = 0.4

SHORTEST_PASSWORD, SHORTEST_TOKEN = 6, 12
USUAL_TOKEN = 16  # characters; shorter ones need several digits


def is_strong(name: str) -> bool:
    """Return whether a value with this name is secret even if it is not random: a password."""
    plain = _plain(name)
    if plain.endswith(
        ("hash", "field", "input", "label", "prompt", "length", "policy", "reset", "url", "file", "path")
    ):
        return False
    return _STRONG.search(plain) is not None


def is_telling(name: str) -> bool:
    """Return whether a random value with this name is secret: a token or a key."""
    plain = _plain(name)
    if _COUNTS.fullmatch(plain) or plain.startswith("public"):
        return False
    return plain in _PLAINLY or bool(_TOKEN_NAME.fullmatch(plain) or _KEY_NAME.fullmatch(plain) or is_strong(name))


def can_be_password(value: str, *, is_quoted: bool) -> bool:
    """Return whether a text can be the password that a name announces."""
    if not SHORTEST_PASSWORD <= len(value) <= 200 or is_standin(value):
        return False
    if _CODE.search(value) and not (is_quoted and " " not in value and _has_classes(value, 3)):
        return False
    if " " in value and not is_quoted:
        return False
    if _IDENTIFIER.fullmatch(value) and not (is_quoted and _has_classes(value, 2) and any(map(str.isdigit, value))):
        return False
    return _has_classes(value, 2) and len(set(value)) >= 5


def can_be_weak_password(name: str, value: str) -> bool:
    """Return whether a word in quotes can be the password that a name announces; it may also be a label or a type."""
    is_named = _plain(name).endswith(("password", "passwd", "passphrase", "pwd", "passwort"))
    return is_named and _WEAK_PASSWORD.fullmatch(value) is not None and not is_standin(value)


def can_be_token(value: str) -> bool:
    """Return whether a text is random enough to be the token or key that a name announces."""
    if not SHORTEST_TOKEN <= len(value) <= 2000 or is_standin(value) or not _RANDOM.fullmatch(value):
        return False
    if _PATHLIKE.fullmatch(value) or (_IDENTIFIER.fullmatch(value) and not is_unspeakable(value)):
        return False
    digits = sum(map(str.isdigit, value))
    if not digits and is_unspeakable(value):
        return True
    if len(value) < USUAL_TOKEN:
        return 3 <= digits < len(value) and value.isalnum() and entropy(value) >= 3.0
    if digits == len(value) or (not digits and entropy(value) < 4.2):
        return False
    return entropy(value) >= (2.8 if len(value) < 24 else 3.1)


def is_unspeakable(value: str) -> bool:
    """Return whether letters are random, and no words: few of their pairs are usual ones."""
    if len(value) < USUAL_TOKEN or not value.isascii() or not value.isalpha():
        return False
    plain = value.lower()
    usual = sum(plain[at : at + 2] in _USUAL_PAIRS for at in range(len(plain) - 1))
    return usual < _LEAST_USUAL * (len(plain) - 1) and len(set(plain)) >= 8


def is_standin(value: str) -> bool:
    """Return whether a text is a variable, an example or a placeholder."""
    if _PLACEHOLDER.search(value) or len(set(value)) <= 3:
        return True
    found = _STANDIN.match(value)
    if found is None:
        return False
    if found[0][0] in "$%#@<{[(&*":
        return (
            value[0] in "<{[(&*"
            or value.startswith(("${", "$(", "%(", "$env", "#{", "@{"))
            or value[1:].replace("_", "").isalpha()
        )
    rest = value[found.end() :]
    if is_unspeakable(rest):
        return False
    return not rest or not (len(rest) >= 8 and any(map(str.isdigit, rest)) and entropy(rest) > 2.8)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9_]", "", name.lower().replace("-", "_")).strip("_").replace("_", "")


def _has_classes(value: str, number: int) -> bool:
    classes = (str.islower, str.isupper, str.isdigit, lambda char: not char.isalnum())
    return sum(any(test(char) for char in value) for test in classes) >= number
