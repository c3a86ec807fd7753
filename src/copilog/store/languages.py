"""Detect the language of a file, by its common name.

VS Code records an id ("typescriptreact") with the states of files that it edited; without an id, the name of the
file decides. Ids and endings map to the same name, so that edits of both kinds add up.
"""

from __future__ import annotations

from copilog.text_cache import cached_by_text

# name -> VS Code's ids, endings of files' names
_LANGUAGES: dict[str, tuple[str, str]] = {
    "Apex": ("apex", "cls trigger"),
    "AsciiDoc": ("asciidoc", "adoc asciidoc"),
    "Assembly": ("asm assembly nasm arm", "asm s"),
    "Astro": ("astro", "astro"),
    "Batch": ("bat", "bat cmd"),
    "BibTeX": ("bibtex", "bib"),
    "Bicep": ("bicep", "bicep"),
    "C": ("c", "c h"),
    "C#": ("csharp", "cs csx"),
    "C++": ("cpp cuda-cpp", "cc cpp cxx c++ hh hpp hxx ino ipp cu cuh"),
    "CMake": ("cmake", "cmake"),
    "COBOL": ("cobol", "cob cbl cobol"),
    "CSS": ("css", "css"),
    "CSV": ("csv tsv", "csv tsv"),
    "Clojure": ("clojure", "clj cljs cljc edn"),
    "CoffeeScript": ("coffeescript", "coffee"),
    "Crystal": ("crystal", "cr"),
    "D": ("d", "d"),
    "Dart": ("dart", "dart"),
    "Diff": ("diff", "diff patch"),
    "Docker": ("dockerfile dockercompose", "dockerfile"),
    "Elixir": ("elixir", "ex exs"),
    "Elm": ("elm", "elm"),
    "Environment": ("dotenv", "env"),
    "Erlang": ("erlang", "erl hrl"),
    "F#": ("fsharp", "fs fsi fsx"),
    "Fish": ("fish", "fish"),
    "Fortran": ("fortran fortran-modern FortranFreeForm FortranFixedForm", "f f77 f90 f95 f03 f08 for"),
    "GDScript": ("gdscript", "gd"),
    "Gleam": ("gleam", "gleam"),
    "Go": ("go go.mod go.sum", "go"),
    "GraphQL": ("graphql", "graphql gql"),
    "Groovy": ("groovy", "groovy gradle"),
    "HTML": ("html django-html jinja jinja-html handlebars", "html htm xhtml hbs j2 jinja jinja2"),
    "Haskell": ("haskell", "hs lhs"),
    "INI": ("ini properties editorconfig", "ini cfg conf properties"),
    "Ignore list": ("ignore", "gitignore dockerignore npmignore vscodeignore eslintignore prettierignore"),
    "JSON": ("json jsonc jsonl json5", "json jsonc jsonl ndjson json5 webmanifest geojson"),
    "Java": ("java", "java"),
    "JavaScript": ("javascript javascriptreact", "js jsx mjs cjs"),
    "Julia": ("julia", "jl"),
    "Jupyter notebook": ("jupyter", "ipynb"),
    "Kotlin": ("kotlin kotlinscript", "kt kts"),
    "Less": ("less", "less"),
    "Lisp": ("lisp commonlisp elisp emacs-lisp", "lisp lsp cl el"),
    "Lua": ("lua", "lua"),
    "MATLAB": ("matlab", "mlx"),
    "Makefile": ("makefile", "mk mak"),
    "Markdown": (
        "markdown mdx prompt chatagent instructions chatmode skill quarto rmd",
        "md markdown mdx mdc qmd rmd",
    ),
    "Nim": ("nim", "nim nims"),
    "Nix": ("nix", "nix"),
    "OCaml": ("ocaml ocaml.interface", "ml mli"),
    "Objective-C": ("objective-c", "m"),
    "Objective-C++": ("objective-cpp", "mm"),
    "PHP": ("php blade", "php phtml"),
    "Pascal": ("pascal objectpascal", "pas pp dpr"),
    "Perl": ("perl perl6 raku", "pl pm t raku"),
    "Plain text": ("plaintext text log", "txt text log"),
    "PowerShell": ("powershell", "ps1 psm1 psd1"),
    "Prisma": ("prisma", "prisma"),
    "Prolog": ("prolog", "pro prolog"),
    "Protocol Buffers": ("proto proto3 protobuf", "proto"),
    "Pug": ("jade pug", "pug jade"),
    "Python": ("python", "py pyi pyw pyx"),
    "R": ("r", "r"),
    "Razor": ("razor aspnetcorerazor", "cshtml razor"),
    "Requirements": ("pip-requirements", ""),
    "reStructuredText": ("restructuredtext", "rst"),
    "Ruby": ("ruby erb", "rb erb rake gemspec"),
    "Rust": ("rust", "rs"),
    "SCSS": ("scss sass", "scss sass"),
    "SQL": ("sql plsql mssql mysql postgres", "sql ddl dml"),
    "SVG": ("svg", "svg"),
    "Scala": ("scala", "scala sc sbt"),
    "Scheme": ("scheme racket", "scm ss rkt"),
    "Shell": ("shellscript", "sh bash zsh ksh bashrc zshrc bash_profile"),
    "Solidity": ("solidity", "sol"),
    "Svelte": ("svelte", "svelte"),
    "Swift": ("swift", "swift"),
    "TOML": ("toml", "toml"),
    "TeX": ("latex tex", "tex sty"),
    "Terraform": ("terraform terraform-vars hcl", "tf tfvars hcl"),
    "TypeScript": ("typescript typescriptreact", "ts tsx mts cts"),
    "Verilog": ("verilog systemverilog", "sv svh v vh"),
    "VHDL": ("vhdl", "vhd vhdl"),
    "Vim script": ("viml vim", "vim"),
    "Visual Basic": ("vb", "vb vbs bas"),
    "Visual Studio solution": ("sln", "sln"),
    "Vue": ("vue", "vue"),
    "WebAssembly": ("wat", "wat wast"),
    "XML": ("xml xsl xaml", "xml xsd xsl xslt xaml csproj fsproj vbproj props targets plist resx"),
    "YAML": ("yaml github-actions-workflow azure-pipelines home-assistant", "yml yaml"),
    "Zig": ("zig", "zig zon"),
}

_NAMES = {
    "cmakelists.txt": "CMake",
    "containerfile": "Docker",
    "docker-compose.yaml": "Docker",
    "docker-compose.yml": "Docker",
    "dockerfile": "Docker",
    "gemfile": "Ruby",
    "gnumakefile": "Makefile",
    "go.mod": "Go",
    "go.sum": "Go",
    "jenkinsfile": "Groovy",
    "makefile": "Makefile",
    "rakefile": "Ruby",
    "requirements.txt": "Requirements",
}
_BY_ID = {language_id: name for name, (ids, _) in _LANGUAGES.items() for language_id in ids.split()}
_BY_ENDING = {ending: name for name, (_, endings) in _LANGUAGES.items() for ending in endings.split()}
_VAGUE = "Plain text"  # VS Code's id for files of unknown languages


def language_of(path: str | None, recorded: str | None) -> str | None:
    """Return the language of a file: as VS Code recorded it, else by the file's name; None if both are unknown."""
    by_id = _BY_ID.get(recorded) if recorded else None
    if by_id is not None and by_id != _VAGUE:
        return by_id
    return (_by_name(path) if path else None) or by_id or recorded or None


@cached_by_text(1024)  # a conversation names the same files repeatedly
def _by_name(path: str) -> str | None:
    """Return the language by the full name of a file, by its last suffix, or by its stem, as for Dockerfile.dev."""
    name = path[max(path.rfind("/"), path.rfind("\\")) + 1 :].lower()
    if name in _NAMES:
        return _NAMES[name]
    stem, dot, ending = name.rpartition(".")
    if not dot:
        return None
    return _BY_ENDING.get(ending) or _NAMES.get(stem) or ("Environment" if name.startswith(".env.") else None)
