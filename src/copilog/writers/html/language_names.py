"""Names of programming languages: in code blocks and by file name.

Only languages of this list are highlighted. Highlighting runs many regular expressions over untrusted text, and each
language here was tested with texts made to slow it down.
"""

from __future__ import annotations

import re

_WORD = re.compile(r"[\w+#.\-]+")

# Our names are those of Pygments; the values are other names of the language.
LANGUAGES: dict[str, str] = {
    "bash": "sh shell zsh ksh shellscript shell-script",
    "batch": "bat cmd dosbatch",
    "c": "h",
    "clojure": "clj",
    "cmake": "",
    "cpp": "c++ cc cxx hpp",
    "csharp": "cs c#",
    "css": "",
    "dart": "",
    "diff": "patch udiff",
    "docker": "dockerfile",
    "elixir": "ex exs",
    "erlang": "erl",
    "fsharp": "fs f#",
    "go": "golang",
    "graphql": "gql",
    "groovy": "gradle",
    "haskell": "hs",
    "html": "htm xhtml",
    "ini": "cfg dosini properties conf editorconfig",
    "java": "",
    "javascript": "js mjs cjs jsx node javascriptreact",
    "json": "jsonc jsonl json5 webmanifest ipynb geojson",
    "julia": "jl",
    "kotlin": "kt kts",
    "less": "",
    "lua": "",
    "make": "makefile mk",
    "markdown": "md mdx",
    "nginx": "",
    "nix": "",
    "objective-c": "objc objectivec",
    "perl": "pl pm",
    "php": "",
    "postgresql": "postgres plpgsql",
    "powershell": "ps1 pwsh psm1",
    "protobuf": "proto",
    "python": "py py3 python3 pyi pyw",
    "pycon": "python-console",
    "r": "rscript",
    "ruby": "rb",
    "rust": "rs",
    "scala": "",
    "scss": "",
    "sql": "sqlite tsql mysql",
    "swift": "",
    "terraform": "tf hcl",
    "tex": "latex",
    "toml": "",
    "typescript": "ts tsx mts cts typescriptreact",
    "vb.net": "vb vbnet",
    "xml": "xsl xsd svg plist csproj rss",
    "yaml": "yml",
    "zig": "",
}
_BY_ALIAS = {alias: name for name, aliases in LANGUAGES.items() for alias in (name, *aliases.split())}
_BY_FILE_NAME = {
    "dockerfile": "docker",
    "makefile": "make",
    "cmakelists.txt": "cmake",
    "gemfile": "ruby",
    "rakefile": "ruby",
    "nginx.conf": "nginx",
}


def language_called(name: str | None) -> str | None:
    """Return the language with this name, if it is one that is highlighted."""
    word = _WORD.search(name[:80]) if name else None
    return _BY_ALIAS.get(word[0].lower().lstrip(".")) if word else None


def language_of_path(path: str | None) -> str | None:
    """Return the language of a file, by its name."""
    if not path:
        return None
    file_name = path[-200:].replace("\\", "/").rsplit("/", 1)[-1].lower()
    if file_name in _BY_FILE_NAME:
        return _BY_FILE_NAME[file_name]
    return _BY_ALIAS.get(file_name.rsplit(".", 1)[-1]) if "." in file_name else None
