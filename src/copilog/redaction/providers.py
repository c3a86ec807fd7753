"""The tokens of providers: how each begins, and its published format.

A token that begins with its prefix is found by it. `behind` are prefixes that end with a character that no long word
has (`SG.`, `ya29.`): the word after them is what is noticed. Formats without a prefix need a name beside them; see
`context`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from copilog.redaction.checksums import has_bech32_sum, has_crc_base62, has_crc_hex, is_jwt

_END = r"(?![A-Za-z0-9])"
_BEGIN = r"(?:(?<![0-9A-Za-z])|(?<=\\[nrtbf]))"  # of a word, perhaps behind an escaped line end
_HEX = "[0-9a-fA-F]"
_UUID = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"


# Signatures within keys of Azure, near their end.
_AZURE = r"AzSe|AzFu|APIM|ACDb|\+ASt|\+ABa|\+AMC|\+AIo|AIoT|\+AEh|\+ACR|AACR"
_AZURE_END = r"[0-9A-Za-z+/]{5,10}={0,2}(?![0-9A-Za-z+/=])"


class Rule(NamedTuple):
    """One format: its kind, the texts it begins with, and what follows them."""

    kind: str
    prefixes: tuple[str, ...]
    pattern: re.Pattern[str]  # of the complete token
    check: Callable[[str], bool] | None = None  # whether checksum or structure fit
    is_checked: bool = False  # a token for which `check` fails is none
    entropy: float = 3.0  # of a token; placeholders made of one letter have less


def _rule(
    kind: str,
    prefixes: str,
    body: str,
    check: Callable[[str], bool] | None = None,
    *,
    is_checked: bool = False,
    entropy: float = 3.0,
) -> Rule:
    """Return a rule for tokens that are one of the prefixes and a body."""
    starts = tuple(prefixes.split())
    first = "|".join(map(re.escape, starts))
    return Rule(kind, starts, re.compile(f"(?:{first}){body}{_END}", re.ASCII), check, is_checked, entropy)


RULES: tuple[Rule, ...] = (
    # Code hosting and packages
    _rule("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", "[0-9A-Za-z]{36}", has_crc_base62),
    _rule("github-token", "github_pat_", r"\w{70,90}"),
    _rule("github-token", "ghs_", r"[0-9A-Za-z]{1,20}_eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"),
    _rule("gitlab-token", "glpat- gldt- glft- glsoat- glrt- glffct- glrtr-", r"[\w-]{20,64}"),
    _rule("gitlab-token", "glpat- glrt- gldt- glft-", r"[\w-]{27,300}\.[0-9a-z]{2}\.?[0-9a-z]{7,10}"),
    _rule("gitlab-token", "glptt-", "[0-9a-f]{40}"),
    _rule("gitlab-token", "glcbt-", r"[0-9A-Za-z]{1,5}_[\w-]{20,64}"),
    _rule("gitlab-token", "glimt-", r"[\w-]{25}"),
    _rule("gitlab-token", "glagent-", r"[\w-]{50}"),
    _rule("gitlab-token", "gloas-", r"[\w-]{64}"),
    _rule("gitlab-token", "GR1348941", r"[\w-]{20}"),
    _rule("bitbucket-token", "ATBB", "[0-9A-Za-z]{24}[0-9A-F]{8}"),
    _rule("atlassian-token", "ATATT3 ATCTT3", r"[\w=-]{60,400}"),
    _rule("npm-token", "npm_", "[0-9A-Za-z]{36}", has_crc_base62),
    _rule("pypi-token", "pypi-", r"Ag[\w-]{60,1000}"),
    _rule("rubygems-token", "rubygems_", "[0-9a-f]{48}"),
    _rule("crates-token", "cio", "[0-9A-Za-z]{32}", entropy=3.5),
    _rule("nuget-token", "oy2", "[0-9a-z]{43}", entropy=3.5),
    _rule("docker-token", "dckr_pat_ dckr_oat_", r"[\w-]{27,64}"),
    _rule("clojars-token", "CLOJARS_", "[0-9a-z]{60}"),
    _rule("jfrog-token", "AKCp", "[0-9A-Za-z]{60,80}", entropy=4.0),
    _rule("jfrog-token", "cmVmd", "[0-9A-Za-z]{59}", entropy=4.0),
    _rule("sonar-token", "squ_ sqp_ sqa_", "[0-9a-f]{40}"),
    _rule("circleci-token", "CCIPAT_ CCIPRJ_", "[0-9A-Za-z]{22}_[0-9a-f]{40}"),
    _rule("buildkite-token", "bkua_", "[0-9a-f]{40}"),
    _rule("octopus-key", "API-", "[0-9A-Z]{26}", entropy=3.5),
    _rule("sourcegraph-token", "sgp_", rf"(?:(?:{_HEX}{{16}}|local)_)?{_HEX}{{40}}"),
    _rule("postman-key", "PMAK-", "[0-9a-fA-F]{24}-[0-9a-fA-F]{34}"),
    # Clouds
    _rule("aws-key-id", "AKIA ASIA ABIA ACCA", "[A-Z2-7]{16}"),
    _rule("aws-key-id", "A3T", "[A-Z0-9][A-Z2-7]{16}", entropy=3.3),
    _rule("aws-bedrock-key", "bedrock-api-key-", r"[A-Za-z0-9+/_-]{20,}={0,2}"),
    _rule("aws-bedrock-key", "ABSK", r"[A-Za-z0-9+/]{100,270}={0,2}"),
    _rule("google-key", "AIza", r"[\w-]{35}"),
    _rule("google-client-secret", "GOCSPX-", r"[\w-]{28}"),
    _rule("digitalocean-token", "dop_v1_ doo_v1_ dor_v1_", "[0-9a-f]{64}"),
    _rule("heroku-key", "HRKU-", r"(?:AA[\w-]{58}|" + _UUID + ")"),
    _rule("alibaba-key-id", "LTAI", "[0-9A-Za-z]{16,24}", entropy=3.5),
    _rule("tencent-key-id", "AKID", "[0-9A-Za-z]{32}", entropy=3.5),
    _rule("yandex-key", "AQVN", r"[\w-]{35,38}", entropy=3.5),
    _rule("fly-token", "fo1_", r"[\w-]{43}"),
    _rule("fly-token", "fm1r_ fm1a_ fm2_", r"[A-Za-z0-9+/]{100,}={0,3}"),
    _rule("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", "[0-9A-Za-z]{36}"),
    _rule("vercel-token", "vercel_blob_rw_", "[0-9A-Za-z]{10,24}_[0-9A-Za-z]{20,40}"),
    _rule("neon-key", "napi_", "[0-9a-z]{60,70}", entropy=3.5),
    _rule("render-key", "rnd_", "[0-9A-Za-z]{28,32}", entropy=3.5),
    _rule("yandex-token", "y0_", r"[\w-]{50,65}", entropy=4.0),
    _rule("vercel-token", "vcp_ vci_ vca_ vcr_ vck_", "[0-9A-Za-z]{24,64}"),
    _rule("supabase-token", "sbp_", "[0-9a-f]{40}"),
    _rule("supabase-token", "sb_secret_", r"[\w-]{22,48}"),
    _rule("planetscale-token", "pscale_tkn_ pscale_oauth_ pscale_pw_", r"[\w=.-]{32,64}"),
    _rule("clickhouse-key", "4b1d", "[0-9A-Za-z]{38}", entropy=3.5),
    _rule("settlemint-token", "sm_aat_ sm_pat_ sm_sat_", "[0-9A-Za-z]{16}"),
    _rule("databricks-token", "dapi dkea dose", r"[0-9a-f]{32}(?:-\d)?"),
    _rule("cloudflare-token", "cfat_ cfut_ cfk_", "[0-9A-Za-z]{40,64}"),
    _rule("tailscale-key", "tskey-", r"[a-z]+-[0-9A-Za-z]{8,24}-[0-9A-Za-z]{16,48}"),
    _rule("pulumi-token", "pul-", "[0-9a-f]{40}"),
    _rule("infracost-key", "ico-", "[0-9A-Za-z]{32}"),
    _rule("prefect-token", "pnu_ pnb_", "[0-9A-Za-z]{36}"),
    _rule("scalingo-token", "tk-us-", r"[\w-]{48}"),
    _rule("age-key", "AGE-SECRET-KEY-1", "[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}", has_bech32_sum),
    _rule("1password-token", "ops_eyJ", r"[A-Za-z0-9+/_-]{60,}={0,3}"),
    _rule("1password-key", "A3-", "[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    # Models
    _rule("openai-key", "sk-proj- sk-svcacct- sk-admin-", r"[\w-]{40,200}"),
    _rule("openai-key", "sk-", "[0-9A-Za-z]{20}T3BlbkFJ[0-9A-Za-z]{20}"),
    _rule("anthropic-key", "sk-ant-", r"[a-z]{3,8}\d\d-[\w-]{80,120}"),
    _rule("openrouter-key", "sk-or-v1-", "[0-9a-f]{64}"),
    _rule("llm-key", "sk-", "[0-9A-Za-z]{32,64}", entropy=3.2),
    _rule("huggingface-token", "hf_ api_org_", "[0-9A-Za-z]{34,40}", entropy=3.5),
    _rule("groq-key", "gsk_", "[0-9A-Za-z]{52}"),
    _rule("replicate-token", "r8_", "[0-9A-Za-z]{37}"),
    _rule("perplexity-key", "pplx-", "[0-9A-Za-z]{48}"),
    _rule("xai-key", "xai-", "[0-9A-Za-z]{80}"),
    _rule("nvidia-key", "nvapi-", r"[\w-]{60,70}"),
    _rule("tavily-key", "tvly-", r"(?:dev-|prod-)?[0-9A-Za-z-]{32,48}"),
    _rule("langsmith-key", "lsv2_pt_ lsv2_sk_", "[0-9a-f]{32}_[0-9a-f]{10}"),
    _rule("pinecone-key", "pcsk_", r"[0-9A-Za-z]{5,8}_[0-9A-Za-z]{60,70}"),
    _rule("elevenlabs-key", "sk_", "[0-9a-f]{48}"),
    _rule("cerebras-key", "csk-", "[0-9a-z]{48}", entropy=3.5),
    _rule("fireworks-key", "fw_", "[0-9A-Za-z]{22,24}", entropy=3.5),
    _rule("jina-key", "jina_", "[0-9a-f]{32}[0-9A-Za-z_-]{28}"),
    _rule("langfuse-key", "sk-lf-", _UUID),
    _rule("firecrawl-key", "fc-", "[0-9a-f]{32}"),
    _rule("voyage-key", "pa-", r"[\w-]{43}", entropy=4.0),
    # Messages, mail, payment
    _rule("slack-token", "xoxb- xoxp- xoxa- xoxr- xoxs- xoxo- xoxc- xoxd- xoxe-", r"[0-9A-Za-z%-]{12,300}"),
    _rule("slack-token", "xapp-", r"\d-[0-9A-Z]{8,}-\d{8,}-[0-9a-z]{16,}"),
    _rule("twilio-key", "SK", "(?:[0-9a-f]{32}|[0-9a-fA-F]{32})"),
    _rule("mailgun-key", "key-", "[0-9a-f]{32}"),
    _rule("sendinblue-key", "xkeysib- xsmtpsib-", "[0-9a-f]{64}-[0-9A-Za-z]{16}"),
    _rule("resend-key", "re_", "[0-9A-Za-z]{8}_[0-9A-Za-z]{24}", entropy=3.8),
    _rule("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_", "[0-9A-Za-z]{10,250}"),
    _rule("square-token", "sq0atp- sq0csp-", r"[\w-]{22,60}"),
    _rule("square-token", "EAAA", r"[\w-]{60}", entropy=4.0),
    _rule("facebook-token", "EAAC EAAM EAAG EAAD EAAB", "[0-9A-Za-z]{90,300}", entropy=4.0),
    _rule("shopify-token", "shpat_ shpca_ shppa_ shpss_ shpua_", "[0-9a-fA-F]{32}"),
    _rule("flutterwave-key", "FLWSECK_TEST- FLWSECK-", "[0-9a-zA-Z]{12,40}(?:-X)?"),
    _rule("easypost-key", "EZAK EZTK", "[0-9A-Za-z]{54}"),
    _rule("shippo-token", "shippo_live_ shippo_test_", "[0-9a-fA-F]{40}"),
    _rule("lob-key", "live_ test_", "[0-9a-f]{35}"),
    _rule("duffel-token", "duffel_test_ duffel_live_", r"[\w=-]{43}"),
    _rule("woocommerce-key", "cs_ ck_", "[0-9a-f]{40}"),
    _rule("polar-token", "polar_oat_ polar_pat_", "[0-9A-Za-z]{40,50}"),
    _rule("plaid-token", "access-sandbox- access-development- access-production-", _UUID),
    _rule("frameio-token", "fio-u-", r"[\w=-]{64}"),
    # Products and monitoring
    _rule("grafana-token", "glsa_", "[0-9A-Za-z]{32}_[0-9a-fA-F]{8}", has_crc_hex),
    _rule("grafana-token", "glc_", r"[A-Za-z0-9+/]{32,400}={0,3}"),
    _rule("newrelic-key", "NRAK-", "[0-9A-Z]{27}"),
    _rule("newrelic-key", "NRII- NRIQ-", r"[\w-]{32}"),
    _rule("newrelic-key", "NRJS-", "[0-9a-f]{19}"),
    _rule("sentry-token", "sntryu_", "[0-9a-f]{64}"),
    _rule("sentry-token", "sntrys_", r"eyJ[A-Za-z0-9+/_-]{20,400}={0,2}(?:_[A-Za-z0-9+/]{43})?"),
    _rule("honeycomb-key", "hcaik_ hcamk_ hcxik_", "[0-9a-z]{58}"),
    _rule("posthog-key", "phx_ phs_", "[0-9A-Za-z]{40,50}"),
    _rule("linear-key", "lin_api_ lin_oauth_", "[0-9A-Za-z]{40,64}"),
    _rule("notion-token", "ntn_", "[0-9]{11}[0-9A-Za-z]{35}"),
    _rule("notion-token", "secret_", "[0-9A-Za-z]{43}", entropy=4.0),
    _rule("airtable-token", "pat", r"[0-9A-Za-z]{14}\.[0-9a-f]{64}"),
    _rule("figma-token", "figd_ figu_ figo_", r"[\w-]{40,60}"),
    _rule("contentful-token", "CFPAT-", r"[\w-]{43}"),
    _rule("typeform-token", "tfp_", r"[\w.=-]{40,80}"),
    _rule("readme-key", "rdme_", "[0-9a-z]{70}"),
    _rule("launchdarkly-key", "sdk- mob- api-", _UUID),
    _rule("adafruit-key", "aio_", "[0-9A-Za-z]{28}"),
    _rule("hubspot-token", "pat-na1- pat-na2- pat-eu1-", _UUID),
    _rule("wandb-key", "wandb_v1_", r"[\w-]{60,100}"),
    _rule("intra42-secret", "s-s4t2ud- s-s4t2af-", "[0-9a-f]{64}"),
    _rule("adobe-secret", "p8e-", r"[\w-]{32}"),
    _rule("jwt", "eyJ", r"[\w-]{14,}\.[\w-]{10,}\.[\w-]*(?:\.[\w-]+){0,2}", is_jwt, is_checked=True),
    _rule("grafana-token", "eyJrIjoi", r"[A-Za-z0-9+/]{60,400}={0,3}"),
)

BEHIND: tuple[Rule, ...] = (
    _rule("sendgrid-key", "SG.", r"[\w-]{20,24}\.[\w-]{39,50}"),
    _rule("google-token", "ya29.", r"[\w.-]{30,1000}"),
    _rule("google-token", "1//", r"0[\w-]{30,200}"),
    _rule("vault-token", "hvs. hvb. hvr.", r"[\w-]{24,300}"),
    _rule("vault-token", "s.", "[0-9A-Za-z]{24}", entropy=3.8),
    _rule("doppler-token", "dp.pt. dp.ct. dp.sa. dp.scim. dp.audit.", "[0-9A-Za-z]{40,44}"),
    _rule("dropbox-token", "sl. sl.u.", r"[\w=-]{100,1400}"),
    _rule("dynatrace-token", "dt0c01. dt0s01. dt0s16.", r"[0-9A-Za-z]{24}\.[0-9A-Za-z]{64}"),
    _rule("paypal-token", "access_token$production$ access_token$sandbox$", r"[0-9a-z]{16}\$[0-9a-f]{32}"),
    _rule("openshift-token", "sha256~", r"[\w-]{43}"),
    _rule("cloudflare-key", "v1.", "0-[0-9a-f]{24}-[0-9a-f]{146}"),
    _rule("slack-token", "xoxe.xoxb- xoxe.xoxp-", r"\d-[0-9A-Za-z]{100,200}"),
    _rule("mapbox-token", "sk.", r"eyJ[\w-]{40,}\.[\w-]{20,}"),
    _rule("harness-key", "pat. sat.", r"[\w-]{22}\.[0-9A-Za-z]{24}\.[0-9A-Za-z]{20}"),
    _rule("yandex-token", "t1.", r"[\w-]{20,}={0,2}\.[\w-]{86}={0,2}"),
)

# Formats that are noticed by a word of a certain length and what is around it; the pattern is searched there.
AROUND: tuple[Rule, ...] = tuple(
    Rule(kind, (), re.compile(pattern, re.ASCII), None, False, entropy)
    for kind, pattern, entropy in (
        ("telegram-token", _BEGIN + r"[0-9]{8,10}:A[\w-]{34}(?![\w-])", 3.5),
        ("terraform-token", r"[0-9A-Za-z]{14}\.atlasv1\.[\w=-]{60,70}", 3.5),
        ("facebook-token", r"(?<![0-9])[0-9]{15,16}\|[\w-]{27,40}(?![\w-])", 3.5),
        (
            "discord-token",
            (
                r"(?:(?<![\w-])|(?<=\\[nrtbf])|(?<=\n-)|(?<=[^\W_]-)(?=[0-9A-Za-z]{24,28}\.))"
                r"[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,38}(?![\w-])"
            ),
            3.8,
        ),
        ("mailchimp-key", _BEGIN + r"[0-9a-f]{32}-us[0-9]{1,2}(?![0-9A-Za-z])", 3.0),
        ("azure-client-secret", r"[\w~.-]{3}[0-9]Q~[\w~.-]{31,34}(?![\w~-])", 3.5),
        ("azure-devops-token", _BEGIN + r"[0-9A-Za-z]{76}AZDO[0-9A-Za-z]{4}(?![0-9A-Za-z])", 3.5),
        (
            "azure-key",
            rf"(?<![0-9A-Za-z+/])[0-9A-Za-z+/]{{33,76}}(?:{_AZURE}){_AZURE_END}",
            4.0,
        ),
        ("azure-key", _BEGIN + r"[0-9A-Za-z]{52}JQQJ99[0-9A-Za-z]{26}(?![0-9A-Za-z])", 3.5),
        ("doppler-token", _BEGIN + r"dp\.st\.(?:[\w-]{2,35}\.)?[0-9A-Za-z]{40,44}(?![0-9A-Za-z])", 3.5),
        ("webhook-secret", _BEGIN + r"whsec_[0-9A-Za-z+/]{32,64}={0,2}(?![0-9A-Za-z+/=])", 3.0),
        ("maxmind-key", _BEGIN + r"[0-9A-Za-z]{6}_[0-9A-Za-z]{29}_mmk(?![0-9A-Za-z])", 3.5),
        ("square-token", r"(?<![0-9A-Za-z])sq0[a-z]{3}-[\w-]{22,43}(?![\w-])", 3.0),
    )
)

# Addresses that let anybody post, found by the word "hook".
WEBHOOKS = re.compile(
    r"(?:hooks\.slack\.com/(?:services|workflows|triggers)/(?P<slack>[\w/+]{30,80})"
    r"|discord(?:app)?\.com/api/(?:v\d+/)?webhooks/(?P<discord>\d{15,20}/[\w-]{60,80})"
    r"|webhook\.office\.com/webhookb2/(?P<teams>[\w@/-]{60,300})"
    r"|hooks\.zapier\.com/hooks/catch/(?P<zapier>\d+/[0-9a-z]+))",
    re.ASCII,
)
