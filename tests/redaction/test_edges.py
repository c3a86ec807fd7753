"""Findings at the edges of words, lines and windows: behind an escaped line end, or far from what announces them."""

from __future__ import annotations

import json
import re

import pytest

from copilog.model import Conversation, Message, Text, ToolResult
from copilog.redaction import NotRedacted, Redactor, find
from tests.redaction.seeds import generator
from tests.redaction.shapes import TOKENS

RNG = generator("edges")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ALNUM = LETTERS + LETTERS.upper() + "0123456789"


def random(alphabet: str, size: int) -> str:
    return "".join(RNG.choice(alphabet) for _ in range(size))


def of_shape(name: str) -> str:
    return next(shape for shape in TOKENS if shape.name == name).make(RNG).secret


def user_name() -> str:
    return "q" + random(LETTERS, 11)


BEHIND_LINE_ENDS = {
    "home folder": lambda secret: f"/home/{secret}/src/app.py",
    "curl": lambda secret: f"curl -u svc:{secret} https://example.com",
    "sshpass": lambda secret: f"sshpass -p {secret} ssh build",
    "share": lambda secret: f"\\\\{secret}\\builds\\x",
}


@pytest.mark.parametrize("name", BEHIND_LINE_ENDS)
@pytest.mark.parametrize("before", ["x = 1", "import os", "see build", "done.", "f()", "a/b"])
def test_what_begins_a_line_of_an_argument_is_found(name: str, before: str) -> None:
    """In the JSON of arguments the letter of `\\n` stands directly before it."""
    secret = user_name() if name in ("home folder", "share") else random(ALNUM, 18)
    text = f"{before}\n{BEHIND_LINE_ENDS[name](secret)}\nrest"
    made = Redactor().text(json.dumps({"new_str": text}))

    assert secret not in made
    assert json.loads(made)["new_str"].startswith(f"{before}\n")


@pytest.mark.parametrize("name", ["Discord bot token", "Mailchimp key", "Telegram token"])
def test_tokens_that_begin_a_line_of_an_argument_are_found(name: str) -> None:
    secret = of_shape(name)
    made = Redactor().text(json.dumps({"new_str": f"import os\n{secret}\nrest"}))

    assert secret[-12:] not in made
    assert secret[:12] not in made
    for sign in "+-":
        assert secret[-12:] not in Redactor().text(f"@@ -1 +1 @@\n{sign}{secret}\n")


def test_an_address_of_a_webhook_is_replaced_to_its_end_wherever_another_hook_is_before() -> None:
    """The window in which it is searched may end within it."""
    secret = "/".join([f"{random('0123456789abcdef', 8)}-4f29-4f29-8f29-{random('0123456789abcdef', 12)}"] * 4)
    for gap in range(150, 400, 7):
        made = Redactor().text(f"a hook {'x ' * (gap // 2)}https://acme.webhook.office.com/webhookb2/{secret} end")
        assert made.partition("webhookb2/")[2].startswith("redacted-")
        assert made.endswith(" end")
        assert secret[-12:] not in made


def test_a_value_beside_a_name_in_an_attribute_is_found_in_json() -> None:
    secret = random(ALNUM, 30) + "7a"
    text = f'<add key="ApiKey" value="{secret}"/>'
    for _ in range(3):
        assert secret not in Redactor().text(text)
        text = json.dumps({"inner": text})


@pytest.mark.parametrize(
    "form",
    [
        "setx DEPLOY_TOKEN {}",
        "setx DEPLOY_TOKEN {} /M",
        "svc:{}@tcp(db.example.com:3306)/shop",
        "dsn/svc:{}@unix(/run/db)/shop",
        "jdbc:oracle:thin:scott/{}@db.example.com:1521:x",
        "db.example.com:5432:app:svc:{}",
        "PGPASSWORD={} psql -h x",
        "docker login -u bob -p '{}' registry.example.com",
        "az login --service-principal -u x -p {} --tenant y",
        "redis-cli -h x -a {} ping",
        "openssl rsa -in k.pem -passin pass:{}",
        "gpg --batch --passphrase {} -d x.gpg",
        "aws configure set aws_secret_access_key {}",
        '{{"user": "bob", "pass": "{}"}}',
    ],
)
def test_passwords_of_commands_and_addresses_are_found(form: str) -> None:
    secret = "Wm" + random(LETTERS, 5) + "Qo" + random(LETTERS, 4) + "96" + "K7x2"
    text = f"first\n{form.format(secret)}\nlast"
    assert secret not in Redactor().text(text)
    assert secret not in Redactor().text(json.dumps({"command": text}))


def test_a_password_of_an_environment_may_look_like_a_name() -> None:
    assert "WmvoadaQomep92" not in Redactor().text("PGPASSWORD=WmvoadaQomep92 psql")
    for code in ("password=userPassword1", "PASSWORD = ObjectIdentifier('1.2.840')", "n.password=i?o.password:0"):
        assert not find(code)


HEX = "0123456789abcdef"
UUID = "86650b99-7568-4c60-9cb2-"
MORE_TOKENS = {
    "langfuse": lambda: f"sk-lf-{UUID}{random(HEX, 12)}",
    "doppler": lambda: f"dp.st.prd.{random(ALNUM, 43)}",
    "neon": lambda: f"napi_{random(LETTERS + '0123456789', 64)}",
    "vercel blob": lambda: f"vercel_blob_rw_{random(ALNUM, 16)}_{random(ALNUM, 30)}",
    "polar": lambda: f"polar_oat_{random(ALNUM, 43)}",
    "woocommerce": lambda: f"cs_{random(HEX, 40)}",
    "honeycomb": lambda: f"hcaik_01{random(LETTERS + '0123456789', 56)}",
    "render": lambda: f"rnd_{random(ALNUM, 28)}",
    "yandex": lambda: f"y0_{random(ALNUM, 55)}",
    "firecrawl": lambda: f"fc-{random(HEX, 32)}",
    "webhook of stripe": lambda: f"whsec_Zb1/{random(ALNUM, 8)}+{random(ALNUM, 9)}/{random(ALNUM, 9)}",
    "okta": lambda: f"00{random(ALNUM, 38)}_-",
}


@pytest.mark.parametrize("name", MORE_TOKENS)
def test_tokens_of_more_providers_are_found(name: str) -> None:
    for _ in range(20):
        secret = MORE_TOKENS[name]()
        before = "SSWS " if name == "okta" else "use `"
        made = Redactor().text(f"{before}{secret}` now")
        assert secret[-10:] not in made, secret


def test_a_token_with_an_underscore_that_markdown_escapes_is_found() -> None:
    for name in ("GitHub personal token", "npm token", "GitHub fine-grained token"):
        secret = of_shape(name)
        made = Redactor().text(f"it is {secret.replace('_', chr(92) + '_')}, I think")
        assert secret[-20:] not in made
        assert made.endswith(", I think")


def test_a_user_name_of_two_words_is_replaced_with_any_slashes() -> None:
    for path in ("C:/Users/Mia Quellenhof/src/a.py", "C:\\Users\\Mia Quellenhof\\src", "/c/Users/Mia Quellenhof/src"):
        made = Redactor().text(f"open {path} now")
        assert "Quellenhof" not in made
        assert "src" in made


@pytest.mark.parametrize("name", ["GitHub personal token", "Anthropic key", "Slack bot token"])
def test_the_output_of_one_call_does_not_continue_that_of_another(name: str) -> None:
    """Else a word of the next output is removed, and the secret has another placeholder than elsewhere."""
    secret = of_shape(name)
    outputs = [f"is {secret}", "ok", "block 1", secret]
    results = [ToolResult(call_id=str(number), text=text) for number, text in enumerate(outputs)]
    made = Redactor().value(Conversation(id="x:1", source="x", messages=[Message(role="tool", parts=[*results])]))
    texts = [part.text for part in made.messages[0].parts if isinstance(part, ToolResult)]

    assert texts[1:3] == ["ok", "block 1"]
    assert texts[0] == f"is {texts[3]}"


CUTS = ["", "…", "...", " …", "… (3 turns)", " #2"]


CUTS = ["", "…", "...", " …", "… (3 turns)", " #2"]


@pytest.mark.parametrize("name", ["GitHub personal token", "Anthropic key", "npm token", "GitLab personal token"])
@pytest.mark.parametrize("cut", CUTS)
def test_the_beginning_of_a_token_at_the_cut_end_of_a_text_is_found(name: str, cut: str) -> None:
    """Titles, summaries and snippets are cut to a length, whatever is there."""
    secret = next(made for made in (of_shape(name) for _ in range(10_000)) if is_clear(made[:22]))
    for size in range(22, len(secret), 3):
        value = {"title": f"please use {secret[:size]}{cut}", "next": "something else"}
        made = Redactor().value(value)
        assert secret[size - 8 : size] not in made["title"], made
        assert made["title"].startswith("please use redacted-")
        assert made["next"] == value["next"]


def is_clear(beginning: str) -> bool:
    """Return whether the beginning of a token cannot be words, as some random letters may."""
    body = re.split("[-_]", beginning)[-1]
    return len(body) >= 8 and re.search("[0-9][A-Za-z]", body) is not None


def test_a_cut_json_web_token_shows_at_most_its_header() -> None:
    from tests.redaction.shapes import SHAPES

    secret = next(shape for shape in SHAPES if shape.name == "JSON Web Token").make(RNG).secret
    first = secret.index(".")
    for size in range(first + 20, len(secret), 3):
        made = Redactor().text(f"please use {secret[:size]}…")
        assert secret[size - 8 : size] not in made


def test_words_at_the_end_of_a_text_that_begin_like_a_token_stay() -> None:
    words = """npm_config_registry_url sk-learn-pipeline-example glpat-example-token-here hf_transfer_enabled_2024
    ghp_helper_of_the_module… sk-toggleable__content re_render_on_change_of_state test_results_for_module_12
    live_0123456789_view api-reference-2024-11-20… SKIP_INTEGRATION_TESTS_2 eyJust_a_word_that_is_long_1
    4b1d9f00a7c3e5b2 pk_live_Ab3dEf6hIj9kLmN0pQrStUvW"""
    for word in words.split():
        assert not find(f"see {word}"), word


def test_a_token_of_three_parts_in_the_name_of_a_file_is_found() -> None:
    secret = f"M{random(ALNUM, 23)}.{random(ALNUM, 6)}.{random(ALNUM, 38)}"
    assert [found.secret for found in find(f"See notes-{secret}.txt")] == [secret]


def test_a_random_token_may_repeat_its_digits() -> None:
    secret = "d2952d322f20d373db0e2edbee2e0323"
    for prefix in ("SK", "key-", "dapi", "shpat_"):
        assert secret not in Redactor().text(f"use {prefix}{secret} now")
    assert not find("use SK" + "x" * 32 + " or key-" + "0" * 32)


def test_a_message_names_the_conversation_that_could_not_be_scanned() -> None:
    value: object = "x"
    for _ in range(2000):
        value = [value]
    conversation = Conversation(id="vscode:1", source="vscode-session", extra={"deep": value})
    with pytest.raises(NotRedacted, match=r"^vscode:1: .* nested too deeply .* nothing was written$"):
        Redactor().value(conversation)


# --- what only its surroundings show --------------------------------------------------------------------------------


CALLS = [
    'server.login("ana", "{}")',
    "smtp.login('ana@example.com', '{}')",
    'requests.get(url, auth=HTTPBasicAuth("ana", "{}"))',
    'client.authenticate(user="ana", password="{}")',
    'new NetworkCredential("ana", "{}")',
    'auth.sign_in("ana", "{}")',
]


@pytest.mark.parametrize("call", CALLS)
def test_a_password_that_a_call_gets_beside_a_user_is_found(call: str) -> None:
    secret = random(LETTERS, 5) + random(LETTERS.upper(), 3) + random("23456789", 3)
    text = call.format(secret)
    for _ in range(3):
        assert secret not in Redactor().text(text)
        text = json.dumps({"inner": text})


@pytest.mark.parametrize(
    "text",
    [
        'login("ana", "main page")',
        'cy.login("ana", "password")',
        'authenticate("basic", "Bearer")',
        'self.client.login("username", "user")',
        'sign_in("ana", redirect_to)',
        'oauth("github", "read_users")',
    ],
)
def test_other_arguments_of_such_calls_stay(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize("shape", ['API_KEY="{}"', "ACCESS_TOKEN={}", '"clientSecret": "{}"'])
@pytest.mark.parametrize("alphabet", [LETTERS, LETTERS + LETTERS.upper()])
def test_random_letters_without_digits_under_a_telling_name_are_found(shape: str, alphabet: str) -> None:
    secrets = [random(alphabet, 32) for _ in range(100)]
    assert sum(secret not in Redactor().text(shape.format(secret)) for secret in secrets) >= 90


@pytest.mark.parametrize(
    "text",
    [
        'API_KEY="environmentVariableName"',
        'apiKey: "configurationservicename"',
        "ACCESS_TOKEN=authenticationprovider",
        'clientSecret = "getClientSecretFromKeyVault"',
        'token: "abstractsyntaxtreevisitor"',
        'secret_key = "internationalization"',
    ],
)
def test_words_under_a_telling_name_stay(text: str) -> None:
    assert Redactor().text(text) == text


@pytest.mark.parametrize("end", ["", "…", "..."])
def test_an_address_that_a_title_cuts_off_is_replaced_if_it_is_complete_elsewhere(end: str) -> None:
    address = f"{user_name()}@{random(LETTERS, 9)}.com"
    for length in range(6, len(address)):
        whole = Conversation(
            id="vscode:1",
            source="vscode-session",
            title=f"Write to {address[:length]}{end}",
            messages=[Message(role="user", turn=0, parts=[Text(text=f"Write to {address} today")])],
        )
        made = Redactor().value(whole)
        assert address[:6] not in (made.title or "")
        assert (made.title or "").startswith("Write to redacted-")


def test_the_end_of_a_title_that_begins_like_a_secret_by_accident_stays() -> None:
    whole = Conversation(
        id="vscode:1",
        source="vscode-session",
        title="Write to ana",
        messages=[Message(role="user", turn=0, parts=[Text(text="Write to ana.petrov@example.com today")])],
    )
    assert Redactor().value(whole).title == "Write to ana"
