"""Made-up secrets of the formats that providers publish, generated at run time: none is in the tree.

Nothing here is taken from `copilog.redaction`: a mistake there must not be repeated here.
"""

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from collections.abc import Callable
from typing import NamedTuple

UPPER, LOWER, DIGITS = string.ascii_uppercase, string.ascii_lowercase, string.digits
ALNUM = UPPER + LOWER + DIGITS
HEX = DIGITS + "abcdef"
BASE32 = UPPER + "234567"
URL_SAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
BECH32 = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"


class Planted(NamedTuple):
    """A text to plant, and what of it must not be left."""

    text: str
    secret: str


class Shape(NamedTuple):
    """A kind of secret. `is_word`: it has no character that a file name or an address cannot have."""

    name: str
    provider: str
    make: Callable[[random.Random], Planted]
    is_word: bool = True


def some(rng: random.Random, alphabet: str, length: int) -> str:
    return "".join(rng.choice(alphabet) for _ in range(length))


def uuid(rng: random.Random) -> str:
    return "-".join(some(rng, HEX, length) for length in (8, 4, 4, 4, 12))


def base62(value: int, width: int) -> str:
    alphabet = DIGITS + UPPER + LOWER
    digits = ""
    while value:
        value, rest = divmod(value, 62)
        digits = alphabet[rest] + digits
    return digits.rjust(width, "0")


def with_crc(rng: random.Random, prefix: str) -> str:
    body = some(rng, ALNUM, 30)
    return prefix + body + base62(zlib.crc32(body.encode()), 6)


def grafana(rng: random.Random) -> str:
    body = "glsa_" + some(rng, ALNUM, 32)
    return f"{body}_{zlib.crc32(body.encode()).to_bytes(4, 'little').hex()}"


def jwt(rng: random.Random) -> str:
    def packed(value: object) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"sub": some(rng, DIGITS, 10), "name": some(rng, LOWER, 8), "iat": rng.randrange(10**9, 2 * 10**9)}
    return f"{packed({'alg': 'HS256', 'typ': 'JWT'})}.{packed(claims)}.{some(rng, URL_SAFE, 43)}"


def age_key(rng: random.Random) -> str:
    name = "age-secret-key-"
    data = [rng.randrange(32) for _ in range(52)]
    values = [ord(c) >> 5 for c in name] + [0] + [ord(c) & 31 for c in name] + data + [0] * 6
    check = 1
    for value in values:
        top = check >> 25
        check = (check & 0x1FFFFFF) << 5 ^ value
        for index, generator in enumerate((0x3B6A57B2, 0x26508E6D, 0x1EA119FA, 0x3D4233DD, 0x2A1462B3)):
            check ^= generator if top >> index & 1 else 0
    check ^= 1
    data += [check >> 5 * (5 - index) & 31 for index in range(6)]
    return (name + "1" + "".join(BECH32[value] for value in data)).upper()


def _tokens() -> list[Shape]:
    """Tokens that are one word."""

    def word(name: str, provider: str, make: Callable[[random.Random], str], is_word: bool = True) -> Shape:
        def planted(rng: random.Random) -> Planted:
            made = make(rng)
            return Planted(made, made)

        return Shape(name, provider, planted, is_word)

    def plain(name: str, provider: str, prefix: str, alphabet: str, length: int) -> Shape:
        return word(name, provider, lambda rng: prefix + some(rng, alphabet, length), set(alphabet) <= set(URL_SAFE))

    return [
        word("GitHub personal token", "GitHub", lambda rng: with_crc(rng, "ghp_")),
        word("GitHub app tokens", "GitHub", lambda rng: with_crc(rng, rng.choice(["gho_", "ghu_", "ghs_", "ghr_"]))),
        word("GitHub fine-grained token", "GitHub", lambda r: f"github_pat_{some(r, ALNUM, 22)}_{some(r, ALNUM, 59)}"),
        plain("GitLab personal token", "GitLab", "glpat-", URL_SAFE, 20),
        plain("GitLab runner token", "GitLab", "glrt-", URL_SAFE, 20),
        plain("GitLab trigger token", "GitLab", "glptt-", HEX, 40),
        word("npm token", "npm", lambda rng: with_crc(rng, "npm_")),
        word(
            "PyPI token",
            "PyPI",
            lambda r: (
                "pypi-" + base64.urlsafe_b64encode(b"\x02\x01\x08pypi.org\x02" + r.randbytes(120)).decode().rstrip("=")
            ),
        ),
        plain("RubyGems key", "RubyGems", "rubygems_", HEX, 48),
        plain("Docker Hub token", "Docker", "dckr_pat_", URL_SAFE, 27),
        word("AWS key id", "AWS", lambda rng: rng.choice(["AKIA", "ASIA"]) + some(rng, BASE32, 16)),
        plain("Google API key", "Google", "AIza", URL_SAFE, 35),
        plain("Google client secret", "Google", "GOCSPX-", URL_SAFE, 28),
        plain("Google access token", "Google", "ya29.", URL_SAFE, 120),
        word(
            "Slack bot token",
            "Slack",
            lambda r: f"xoxb-{some(r, DIGITS, 12)}-{some(r, DIGITS, 12)}-{some(r, ALNUM, 24)}",
        ),
        word(
            "Slack app token",
            "Slack",
            lambda r: f"xapp-1-A{some(r, UPPER + DIGITS, 10)}-{some(r, DIGITS, 13)}-{some(r, HEX, 64)}",
        ),
        word(
            "Slack webhook",
            "Slack",
            lambda r: (
                f"https://hooks.slack.com/services/T{some(r, UPPER, 10)}/B{some(r, UPPER, 10)}/{some(r, ALNUM, 24)}"
            ),
            False,
        ),
        word(
            "Stripe key",
            "Stripe",
            lambda r: r.choice(["sk_live_", "rk_live_", "sk_test_"]) + some(r, ALNUM, r.choice([24, 99])),
        ),
        word(
            "OpenAI project key",
            "OpenAI",
            lambda r: f"sk-proj-{some(r, URL_SAFE, 74)}T3BlbkFJ{some(r, URL_SAFE, 74)}",
        ),
        word("OpenAI key", "OpenAI", lambda r: f"sk-{some(r, ALNUM, 20)}T3BlbkFJ{some(r, ALNUM, 20)}"),
        word("Anthropic key", "Anthropic", lambda r: f"sk-ant-api03-{some(r, URL_SAFE, 93)}AA"),
        plain("Hugging Face token", "Hugging Face", "hf_", UPPER + LOWER, 34),
        plain("Groq key", "Groq", "gsk_", ALNUM, 52),
        plain("Replicate token", "Replicate", "r8_", ALNUM, 37),
        plain("Perplexity key", "Perplexity", "pplx-", ALNUM, 48),
        plain("xAI key", "xAI", "xai-", ALNUM, 80),
        plain("OpenRouter key", "OpenRouter", "sk-or-v1-", HEX, 64),
        word("SendGrid key", "SendGrid", lambda r: f"SG.{some(r, URL_SAFE, 22)}.{some(r, URL_SAFE, 43)}"),
        plain("Twilio key", "Twilio", "SK", HEX, 32),
        plain("Mailgun key", "Mailgun", "key-", HEX, 32),
        word("Mailchimp key", "Mailchimp", lambda r: f"{some(r, HEX, 32)}-us{r.randrange(1, 30)}"),
        word("Brevo key", "Brevo", lambda r: f"xkeysib-{some(r, HEX, 64)}-{some(r, ALNUM, 16)}"),
        plain("Shopify token", "Shopify", "shpat_", HEX, 32),
        plain("Square token", "Square", "sq0atp-", URL_SAFE, 22),
        plain("DigitalOcean token", "DigitalOcean", "dop_v1_", HEX, 64),
        plain("Databricks token", "Databricks", "dapi", HEX, 32),
        word(
            "Discord bot token",
            "Discord",
            lambda r: f"M{some(r, ALNUM, 25)}.{some(r, ALNUM, 6)}.{some(r, URL_SAFE, 38)}",
        ),
        word(
            "Discord webhook",
            "Discord",
            lambda r: f"https://discord.com/api/webhooks/{some(r, DIGITS, 18)}/{some(r, URL_SAFE, 68)}",
            False,
        ),
        word("Telegram token", "Telegram", lambda r: f"{r.randrange(10**9, 10**10)}:AA{some(r, URL_SAFE, 33)}", False),
        word("Azure client secret", "Azure", lambda r: f"{some(r, ALNUM, 3)}8Q~{some(r, ALNUM + '_.-', 33)}a", False),
        word("Azure DevOps token", "Azure", lambda r: f"{some(r, ALNUM, 76)}AZDO{some(r, ALNUM, 4)}"),
        plain("Vault token", "HashiCorp", "hvs.", URL_SAFE, 95),
        word("Terraform token", "HashiCorp", lambda r: f"{some(r, ALNUM, 14)}.atlasv1.{some(r, ALNUM, 67)}"),
        word("Grafana token", "Grafana", grafana),
        plain("New Relic key", "New Relic", "NRAK-", UPPER + DIGITS, 27),
        plain("Sentry user token", "Sentry", "sntryu_", HEX, 64),
        plain("Linear key", "Linear", "lin_api_", ALNUM, 40),
        word("Notion token", "Notion", lambda r: f"ntn_{some(r, DIGITS, 11)}{some(r, ALNUM, 35)}"),
        word("Airtable token", "Airtable", lambda r: f"pat{some(r, ALNUM, 14)}.{some(r, HEX, 64)}"),
        word(
            "Atlassian token",
            "Atlassian",
            lambda r: f"ATATT3xFfGF0{some(r, URL_SAFE, 171)}={some(r, HEX.upper(), 8)}",
            False,
        ),
        plain("Figma token", "Figma", "figd_", URL_SAFE, 40),
        plain("Doppler token", "Doppler", "dp.pt.", ALNUM, 43),
        plain("PlanetScale token", "PlanetScale", "pscale_tkn_", URL_SAFE, 43),
        word("Postman key", "Postman", lambda r: f"PMAK-{some(r, HEX, 24)}-{some(r, HEX, 34)}"),
        plain("Pulumi token", "Pulumi", "pul-", HEX, 40),
        word("Tailscale key", "Tailscale", lambda r: f"tskey-auth-{some(r, ALNUM, 17)}-{some(r, ALNUM, 32)}"),
        plain("Supabase token", "Supabase", "sbp_", HEX, 40),
        plain("Netlify token", "Netlify", "nfp_", ALNUM, 36),
        word("Heroku key", "Heroku", lambda r: f"HRKU-AA{some(r, URL_SAFE, 58)}"),
        word("Dynatrace token", "Dynatrace", lambda r: f"dt0c01.{some(r, BASE32, 24)}.{some(r, BASE32, 64)}"),
        plain("SonarQube token", "SonarQube", "squ_", HEX, 40),
        plain("Contentful token", "Contentful", "CFPAT-", URL_SAFE, 43),
        word("LaunchDarkly key", "LaunchDarkly", lambda r: f"sdk-{uuid(r)}"),
        word("1Password service token", "1Password", lambda r: f"ops_eyJ{some(r, ALNUM, 300)}"),
        word("age key", "age", age_key),
        word("JSON Web Token", "any", jwt),
    ]


def _in_context() -> list[Shape]:
    """Secrets that only what is beside them shows."""

    def password(rng: random.Random) -> str:
        letters = some(rng, ALNUM, rng.randrange(9, 15))
        return letters + rng.choice(DIGITS) + rng.choice("!#*.-_") + rng.choice(UPPER) + rng.choice(LOWER)

    def pem(rng: random.Random) -> Planted:
        name = rng.choice(["RSA PRIVATE", "PRIVATE", "EC PRIVATE", "OPENSSH PRIVATE", "ENCRYPTED PRIVATE"]) + " KEY"
        lines = [some(rng, BASE64, 64) for _ in range(rng.randrange(3, 26))]
        return Planted("\n".join([f"-----BEGIN {name}-----", *lines, f"-----END {name}-----"]), lines[1])

    def pgp(rng: random.Random) -> Planted:
        lines = [some(rng, BASE64, 64) for _ in range(8)]
        block = ["-----BEGIN PGP PRIVATE KEY BLOCK-----", "", *lines, "=" + some(rng, BASE64, 4)]
        return Planted("\n".join([*block, "-----END PGP PRIVATE KEY BLOCK-----"]), lines[3])

    def putty(rng: random.Random) -> Planted:
        public, private = ([some(rng, BASE64, 64) for _ in range(3)] for _ in range(2))
        head = ["PuTTY-User-Key-File-3: ssh-ed25519", "Encryption: none", "Comment: my key", "Public-Lines: 3", *public]
        return Planted(
            "\n".join([*head, "Private-Lines: 3", *private, f"Private-MAC: {some(rng, HEX, 64)}"]), private[1]
        )

    def around(before: str, after: str, make: Callable[[random.Random], str]) -> Callable[[random.Random], Planted]:
        def planted(rng: random.Random) -> Planted:
            made = make(rng)
            return Planted(before + made + after, made)

        return planted

    def azure_key(rng: random.Random) -> str:
        return base64.b64encode(rng.randbytes(64)).decode()

    def aws_pair(rng: random.Random) -> Planted:
        secret = some(rng, BASE64, 40)
        return Planted(f"AKIA{some(rng, BASE32, 16)}\n{secret}", secret)

    return [
        Shape("private key (PEM, OpenSSH)", "any", pem, False),
        Shape("private key (PGP)", "any", pgp, False),
        Shape("private key (PuTTY)", "any", putty, False),
        Shape("password in a URL", "any", around("postgres://app:", "@db.example.com:5432/app", password), False),
        Shape("password in ADO", "any", around("Server=db1;User Id=app;Password=", ";Encrypt=true", password), False),
        Shape(
            "password in JDBC",
            "any",
            around("jdbc:mysql://db1/app?user=app&password=", "&useSSL=true", password),
            False,
        ),
        Shape("assigned password", "any", around('DB_PASSWORD="', '"', password), False),
        Shape("assigned API key", "any", around("apiKey: '", "'", lambda rng: some(rng, ALNUM, 32)), False),
        Shape("assigned hex secret", "any", around("CLIENT_SECRET=", "", lambda rng: some(rng, HEX, 40)), True),
        Shape(
            "AWS secret key, named", "AWS", around("aws_secret_access_key = ", "", lambda r: some(r, BASE64, 40)), False
        ),
        Shape("AWS secret key, beside its id", "AWS", aws_pair, False),
        Shape("bearer header", "any", around("Authorization: Bearer ", "", lambda rng: some(rng, URL_SAFE, 40)), False),
        Shape(
            "basic header",
            "any",
            around("Authorization: Basic ", "", lambda r: base64.b64encode(f"app:{password(r)}".encode()).decode()),
            False,
        ),
        Shape(
            "Docker login",
            "Docker",
            around(
                '{"auths": {"ghcr.io": {"auth": "',
                '"}}}',
                lambda r: base64.b64encode(f"app:{password(r)}".encode()).decode(),
            ),
            False,
        ),
        Shape("cookie", "any", around("Cookie: theme=dark; sid=", "; lang=en", lambda r: some(r, ALNUM, 32)), False),
        Shape("netrc entry", "any", around("machine git.example.com login app password ", "", password), False),
        Shape(
            "Azure storage key", "Azure", around("AccountName=a1;AccountKey=", ";EndpointSuffix=core", azure_key), False
        ),
        Shape(
            "Azure SAS",
            "Azure",
            around(
                "https://a1.blob.core.windows.net/c?sv=2024-11-04&sr=c&sig=",
                "&se=2030",
                lambda r: some(r, ALNUM, 43) + "%3D",
            ),
            False,
        ),
    ]


def _personal() -> list[Shape]:
    def name(rng: random.Random) -> str:
        return some(rng, LOWER, rng.randrange(5, 11))

    def email(rng: random.Random) -> Planted:
        made = f"{name(rng)}.{name(rng)}@{name(rng)}.{rng.choice(['com', 'de', 'org', 'co.uk', 'io'])}"
        return Planted(made, made)

    def home(before: str, after: str) -> Callable[[random.Random], Planted]:
        def planted(rng: random.Random) -> Planted:
            made = name(rng)
            return Planted(before + made + after, made)

        return planted

    def host(rng: random.Random) -> Planted:
        made = f"{name(rng)}{rng.randrange(1, 99)}.{rng.choice(['corp', 'internal', 'local', 'lan'])}"
        return Planted(made, made)

    return [
        Shape("e-mail address", "any", email),
        Shape("home folder (Linux)", "any", home("/home/", "/src/app.py"), False),
        Shape("home folder (macOS)", "any", home("/Users/", "/src/app.py"), False),
        Shape("home folder (Windows)", "any", home("C:\\Users\\", "\\src\\app.py"), False),
        Shape("home folder (WSL)", "any", home("\\\\wsl$\\Ubuntu\\home\\", "\\src\\app.py"), False),
        Shape("home folder (URI)", "any", home("file:///c%3A/Users/", "/src/app.py"), False),
        Shape("host of a share", "any", home("\\\\", "\\projects\\app"), False),
        Shape("internal host", "any", host),
    ]


def _hard() -> list[Shape]:
    """Secrets whose form says little; that some are missed is known."""

    def around(before: str, after: str, make: Callable[[random.Random], str]) -> Callable[[random.Random], Planted]:
        def planted(rng: random.Random) -> Planted:
            made = make(rng)
            return Planted(before + made + after, made)

        return planted

    def word(rng: random.Random) -> str:
        return some(rng, LOWER, rng.randrange(6, 12))

    return [
        Shape("password that is a word, assigned", "any", around('password = "', '"', word)),
        Shape("password in a sentence", "any", around("my password is ", ", by the way", word)),
        Shape(
            "password of a mysql -p", "any", around("mysql -u root -p", " shop", lambda r: word(r) + some(r, DIGITS, 3))
        ),
        Shape("random key without a name", "any", around("it is ", "", lambda r: some(r, ALNUM, 32))),
        Shape("UUID as an API key", "any", around('SNYK_API_TOKEN="', '"', uuid)),
        Shape("key under a name of another language", "any", around("Schlüssel: ", "", lambda r: some(r, ALNUM, 32))),
        Shape("PIN", "any", around("PIN: ", "", lambda r: some(r, DIGITS, 6))),
        Shape("user name outside of a path", "any", around("-rw-r--r-- 1 ", " staff 120 notes.txt", word)),
        Shape("host name without a domain", "any", around("ping ", "", lambda r: word(r) + "01")),
        Shape("private IP address", "any", around("ssh 10.0.", "", lambda r: f"{r.randrange(256)}.{r.randrange(256)}")),
        Shape("name of a person", "any", around("ask ", " about it", lambda r: f"{word(r).title()} {word(r).title()}")),
    ]


TOKENS = _tokens()
HARD = _hard()
IN_CONTEXT = _in_context()
PERSONAL = _personal()
SHAPES = [*TOKENS, *IN_CONTEXT, *PERSONAL]
PROVIDERS = {shape.provider for shape in SHAPES} - {"any"}
