"""Let VS Code judge exports: it imports chats, lists and opens sessions, and exports them again."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import playwright.sync_api

from conformance.judge_cases import Case
from conformance.judge_equal import Difference, differences_of
from conformance.judge_expected import missing_from
from conformance.judge_page import JudgePage, RefusedError, write_settings
from conformance.vscode_driver import browsing
from conformance.vscode_server import USER_DATA, serving
from conformance.vscode_setup import VsCode, install
from copilog.chat_json.sessions import session_id_of
from copilog.exports.chat import chat_pieces
from copilog.exports.vscode_session import INDEX_KEY, SESSIONS, session_text
from copilog.model import title_of

MOST_SESSIONS = 40  # placed at a time: VS Code 1.110 keeps 50 in its index
TRIES = 2  # of a file that is refused: a busy machine may be slow to show it


class Verdict(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What VS Code made of one conversation."""

    kind: str
    name: str
    chat: list[str] = []  # what is wrong with the imported chat; empty if nothing is
    session: list[str] = []  # the same of the session
    exported: list[Difference] = []  # what VS Code's own export of the session has otherwise
    not_exported: str | None = None
    calls: int = 0  # tool calls that were looked for
    seconds: float = 0.0

    @property
    def is_good(self) -> bool:
        return not (self.chat or self.session or self.not_exported or self.unexplained)

    @property
    def unexplained(self) -> list[Difference]:
        """What VS Code's own export has otherwise, and no known reason explains."""
        return [each for each in self.exported if each.reason is None]


def judge(version: str, cases: Sequence[Case], *, pictures: Path | None = None) -> Iterator[Verdict]:
    """Yield what one version of VS Code makes of each conversation."""
    scratch = Path(tempfile.mkdtemp(prefix="copilog-judge-"))
    try:
        yield from _Judge(install(version), scratch, pictures).judge(cases)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class _Judge:
    def __init__(self, vscode: VsCode, scratch: Path, pictures: Path | None) -> None:
        self._vscode = vscode
        self._home = scratch / "home"
        self._workspace = scratch / "workspace"
        self._workspace.mkdir(parents=True)
        self._user_data = self._home / USER_DATA
        self._pictures = pictures
        self._numbers: dict[str, int] = {}
        write_settings(self._user_data)

    def judge(self, cases: Sequence[Case]) -> Iterator[Verdict]:
        """Import all chats, one after the other; then place all sessions at once, and open each."""
        with serving(self._vscode, self._home, self._workspace) as running, browsing() as context:
            self._page = JudgePage(context, running.url, self._workspace)
            self._page.open()
            verdicts = [self._judge_chat(case) for case in cases]
            self._page.close_editors()
            for first in range(0, len(cases), MOST_SESSIONS):
                some = slice(first, first + MOST_SESSIONS)
                yield from self._judge_sessions(cases[some], verdicts[some])

    def _judge_sessions(self, cases: Sequence[Case], verdicts: Sequence[Verdict]) -> Iterator[Verdict]:
        self._page.leave()
        self._place_sessions(cases)
        self._page.open()
        self._page.show_sessions()
        for case, verdict in zip(cases, verdicts, strict=True):
            began = time.monotonic()
            self._judge_session(case, verdict)
            verdict.seconds = round(verdict.seconds + time.monotonic() - began, 1)
            yield verdict

    # --- chats ------------------------------------------------------------------------------------------------------

    def _judge_chat(self, case: Case) -> Verdict:
        began = time.monotonic()
        verdict = Verdict(kind=case.kind, name=case.name)
        text = "".join(chat_pieces(case.conversation, Counter()))
        for _ in range(TRIES):
            try:
                self._page.import_chat(text, is_empty=not case.conversation.turns)
            except (RefusedError, playwright.sync_api.Error) as error:
                verdict.chat = [f"not imported: {error}"[:300]]
                continue
            verdict.chat = self._look(case, verdict)
            break
        self._take_picture(case, "chat", verdict.chat)
        verdict.seconds = round(time.monotonic() - began, 1)
        return verdict

    def _look(self, case: Case, verdict: Verdict) -> list[str]:
        missing = missing_from(self._page.read_screen(), case.conversation)
        verdict.calls = missing.expected_calls
        told = [f"prompt: {line}" for line in missing.prompts] + [f"answer: {line}" for line in missing.answers]
        return told + [f"call: {name}" for name in missing.calls]

    # --- sessions ---------------------------------------------------------------------------------------------------

    def _place_sessions(self, cases: Sequence[Case]) -> None:
        (storage,) = [path for path in (self._user_data / "User/workspaceStorage").iterdir() if path.is_dir()]
        folder = storage / SESSIONS
        folder.mkdir(exist_ok=True)
        entries = {}
        self._files: dict[str, Path] = {}
        for case in cases:
            name = session_id_of(case.conversation, is_new=True)
            text, entry = session_text(case.conversation, name, Counter(), is_log=True)
            entries[name] = {**entry, "title": self._title(case)}  # several may have the same
            self._files[case.conversation.id] = folder / f"{name}.jsonl"
            self._files[case.conversation.id].write_bytes(text.encode("utf-8", "replace"))
        self._page.put_index(INDEX_KEY, json.dumps({"version": 1, "entries": entries}))

    def _judge_session(self, case: Case, verdict: Verdict) -> None:
        for _ in range(TRIES):
            try:
                self._page.open_session(self._title(case))
            except (RefusedError, playwright.sync_api.Error) as error:
                verdict.session = [f"not opened: {error}"[:300]]
                continue
            verdict.session = self._look(case, verdict)
            break
        self._take_picture(case, "session", verdict.session)
        if verdict.session[:1] and verdict.session[0].startswith("not opened"):
            return
        try:
            exported = self._page.export_chat()
        except (RefusedError, playwright.sync_api.Error) as error:
            verdict.not_exported = str(error)[:300]
        else:
            verdict.exported = differences_of(self._files[case.conversation.id], exported, self._vscode.version)

    def _title(self, case: Case) -> str:
        """Return a title that no other session has."""
        number = self._numbers.setdefault(case.conversation.id, len(self._numbers) + 1)
        return f"Case {number:03}: {title_of(case.conversation)[:40]}"

    def _take_picture(self, case: Case, what: str, wrong: list[str]) -> None:
        if self._pictures is not None and wrong:
            self._pictures.mkdir(parents=True, exist_ok=True)
            name = "".join(char if char.isalnum() else "-" for char in case.name)[:50]
            self._page.screenshot(self._pictures / f"{name}-{what}.png")
