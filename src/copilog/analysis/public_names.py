"""List the names that identify no user, because they are the products' own or in general use.

An anonymous page shows these names. A missing name costs a reader some detail; one name too many may identify a user.
So doubtful names are left out.
"""

from __future__ import annotations

import re

from copilog.store.languages import language_of


def _names(*lines: str) -> frozenset[str]:
    return frozenset(" ".join(lines).split())


# The labels of figures without a name.
PLACEHOLDERS = frozenset(
    {
        "(default)", "(no agent)", "(no date)", "(no workspace)", "(unknown model)", "(unknown)", "(unnamed)", "total",
    }
)  # fmt: skip

# Modes, participants and agents that come with VS Code and Copilot CLI, without regard to case.
AGENTS = _names(
    "agent ask autopilot code-review copilot edit edits editor explore general-purpose githubcopilot inline",
    "interactive notebook plan research shell task terminal vscode workspace",
    "github.copilot.default github.copilot.edits github.copilot.editsagent github.copilot.editingsession",
    "github.copilot.editor github.copilot.notebook github.copilot.terminal github.copilot.vscode",
    "github.copilot.workspace github.copilot.terminalpanel github.copilot.notebookeditoragent",
)

# Tools of VS Code, of its Copilot extension and of Copilot CLI.
TOOLS = _names(
    "apply_patch ask_user bash code_review create create_and_run_task create_directory create_file",
    "create_new_jupyter_notebook create_new_workspace create_pull_request edit edit_file edit_notebook_file",
    "executeCode exit_plan_mode fetch_webpage file_search get_changed_files get_errors get_project_setup_info",
    "get_search_view_results get_task_output get_terminal_output get_vscode_api github_repo glob grep grep_search",
    "insert insert_edit_into_file install_extension list_agents list_bash list_code_usages list_dir list_powershell",
    "lsp manage_todo_list memory multi_replace_string_in_file open_simple_browser powershell read_agent read_bash",
    "read_file read_notebook_cell_output read_powershell read_project_structure replace_string_in_file report_intent",
    "report_progress runSubagent runTests run_in_terminal run_notebook_cell run_task run_vscode_command",
    "semantic_search skill sql stop_bash stop_powershell store_memory str_replace str_replace_editor task",
    "task_complete terminal_last_command terminal_selection test_failure test_search think update_todo view",
    "vscode_askQuestions vscode_readFile vscode_searchExtensions_internal web_fetch web_search write_agent write_bash",
    "write_powershell",
    "copilot_applyPatch copilot_createDirectory copilot_createFile copilot_createNewJupyterNotebook",
    "copilot_createNewWorkspace copilot_editFiles copilot_editNotebook copilot_fetchWebPage copilot_findFiles",
    "copilot_findTestFiles copilot_findTextInFiles copilot_getChangedFiles copilot_getErrors",
    "copilot_getNotebookSummary copilot_getProjectSetupInfo copilot_getVSCodeAPI copilot_githubRepo",
    "copilot_insertEdit copilot_installExtension copilot_listCodeUsages copilot_listDirectory copilot_memory",
    "copilot_multiReplaceString copilot_openSimpleBrowser copilot_readFile copilot_readNotebookCellOutput",
    "copilot_readProjectStructure copilot_replaceString copilot_runInTerminal copilot_runNotebookCell",
    "copilot_runTests copilot_runVsCodeTask copilot_runVscodeCommand copilot_searchCodebase copilot_testFailure",
    "copilot_think copilot_updateUserPreferences",
)

PROGRAMS = _names(
    "ansible apt apt-get awk aws az bash bazel black brew bun bundle cargo cat chmod chown clang clippy cmake code",
    "composer conda copilot cp ctest curl cut date deno df diff dig dir docker docker-compose dotnet du env eslint",
    "ffmpeg find flake8 g++ gcc gcloud gem get-childitem get-content gh git go gradle grep gunzip gzip head helm hg",
    "hostname id java javac jest jq julia jupyter kill kubectl less ln ls lsof lua make mkdir mocha mv mvn mypy",
    "mysql netstat next ng ninja node nohup npm npx nslookup nx openssl pandoc patch pdm perl php ping pip pipenv",
    "pipx pkill playwright pnpm podman poetry powershell pre-commit prettier printenv prisma ps psql pwsh pylint",
    "pyright pytest python python3 r rake redis-cli remove-item rg rm rmdir rsync ruby ruff rustc rustup scp sed",
    "select-string sh sleep sort sqlite3 ssh stat strace svn swift systemctl tail tar task tee terraform test timeit",
    "timeout tmux top touch tox tr tree tsc turbo type unittest uname uniq unzip uv uvicorn vim vite vitest wc webpack",
    "wget where which whoami xargs yarn zip zsh",
)

# The words of models' names; each word of a public name has to be one of these or a version.
_MODEL_WORDS = _names(
    "anthropic auto azure chat claude code codestral codex command copilot cortex deepseek devstral exp experimental",
    "fable fast flash gemini gemma glm google gpt grok haiku high instant instruct kimi large latest lite",
    "llama low max medium meta minimax mini mistral mixtral moonshotai nano nova o openai opus oss phi preview pro",
    "qwen qwen2 qwen3 r raptor reasoner reasoning sonnet spark thinking thought turbo ultra vision x xai xhigh zai",
)
_VERSION = re.compile(r"[vkor]?\d{1,8}[a-z]?|\d{1,3}[bo]|r\d")
_BETWEEN = re.compile(r"[\s\-_./:()@]+")

# Extensions of files, by which the languages are recognized too.
ENDINGS = _names(
    "adoc asm astro bat bib bicep c cc cfg clj cljs cmake cmd coffee conf cpp cs css csv cu cxx d dart diff dockerfile",
    "edn ejs el elm env erb erl ex exs f90 fish fs fsx gd gitignore gleam go gql gradle graphql groovy h hbs hcl hpp",
    "hs htm html hxx ini ipynb java jl js json json5 jsonc jsonl jsx kt kts less lisp lua m make md mdx mjs mk ml mli",
    "mm nim nix pas patch php pl pm pp prisma proto ps1 psm1 pug py pyi pyx qmd r rb rkt rs rst sass sc scala scm scss",
    "sh sln sol sql sv svelte svg swift tex tf toml ts tsx tsv txt v vb vhd vhdl vim vue wat xaml xml yaml yml zig zsh",
)
LANGUAGES = frozenset(name for ending in ENDINGS if (name := language_of(f"a.{ending}", None)) is not None) | {
    "Requirements",
    "COBOL",
}

VOTE_REASONS = _names(
    "didNotFollowInstructions incompleteCode incorrectCode missingContext offensiveOrUnsafe other",
    "poorlyWrittenOrFormatted refusedAValidRequest willReportIssue",
)
ERRORS = _names(
    "authentication authorization badRequest canceled cancelled content_filter context_limit error failed filtered",
    "length model_not_found model_not_supported networkError notFound not_found offTopic query quota quotaExceeded",
    "quota_exceeded rateLimited rate_limit rate_limited rate_limit_exceeded serverError server_error timeout",
    "tooManyRequests unauthorized unknown upstream_error",
)
_STATUS = re.compile(r"(?:HTTP )?[1-5]\d\d|E[A-Z]{3,12}|ERR_(?:HTTP2|NETWORK|SSL|TLS)[A-Z_]{0,30}")

# The evidence of an agent or a skill: texts of our own, and of the products' logs.
EVIDENCE = frozenset(
    {
        "@mention", "@mention in the text", "@mention of a participant", "SKILL.md read", "agent id", "attached index",
        "customInstructions", "debug log", "input box", "location", "modeInfo", "modeInstructions", "prompt index",
        "prompt text", "recorded", "session.skills_loaded", "skill resource", "skill-context", "skill.invoked",
        "slash command", "span", "subagent.selected", "tool call", "toolMetadata", "trajectory", "unknown",
        "user.message", "vscode.requests.metadata.json",
    }
)  # fmt: skip

# The components of prompts, as Copilot names them.
CATEGORIES = frozenset({"System", "User Context", "Uncategorized"})
LABELS = frozenset(
    {
        "Files", "Instructions", "Messages", "System Instructions", "Tool Definitions", "Tool Results", "Tools",
        "Reserved Output", "User Message",
    }
)  # fmt: skip


def is_model(name: str) -> bool:
    """Return whether a model's name is public: made only of names of makers, and versions."""
    words = [word for word in _BETWEEN.split(name.casefold()) if word]
    return bool(words) and all(word in _MODEL_WORDS or _VERSION.fullmatch(word) for word in words)


def is_error(name: str) -> bool:
    """Return whether an error is a code, and not a text that may quote anything."""
    return name in ERRORS or _STATUS.fullmatch(name) is not None
