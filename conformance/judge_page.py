"""The workbench of VS Code as the judge uses it: import a chat, open a session, read the screen, export it again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Locator, Page, ViewportSize
from playwright.sync_api import TimeoutError as TimeoutOfPage

from conformance.vscode_page import START_MS, STEP_MS, accept_dialog

VIEWPORT = ViewportSize(width=1500, height=2600)  # high: a list only has the rows that are visible
FRAME_MS = 100
SETTLE_MS = 400  # in which a row that was opened is drawn
LOOK_MS = 20_000
SAME_MS = 10_000  # in which another session is shown; the same text may be in two of them
MOST_SCROLLS = 400
MOST_OPENINGS = 12
CHAT_FILE = "chat.json"  # the name that VS Code's dialogs suggest
REFUSED = "Invalid chat session data"
KEYS = {
    "F6": "workbench.action.chat.import",
    "F7": "workbench.action.chat.export",
    "F8": "workbench.action.closeAllEditors",
    "F9": "agentSessions.showAgentSessionsSidebar",
}
SETTINGS: dict[str, Any] = {
    "chat.agent.collapseCompletedResponses": False,
    "chat.agent.thinking.collapsedTools": "off",
    "chat.agent.thinking.generateTitles": False,
    "chat.agent.thinking.terminalTools": False,
    "chat.agent.thinkingStyle": "fixedScrolling",
    "chat.disableAIFeatures": False,
    "chat.tips.enabled": False,
    "chat.tools.terminal.simpleCollapsible": False,
    "extensions.autoCheckUpdates": False,
    "telemetry.telemetryLevel": "off",
    "window.confirmBeforeClose": "never",
    "workbench.startupEditor": "none",
}
EDITOR = ".editor-group-container .interactive-session"  # where a chat is that was imported
SIDE = ".part.auxiliarybar .interactive-session"  # where a session is that was opened from the list
SESSION = ".agent-session-item"
WHEEL = """(element, pixels) => (element.querySelector('.monaco-list-rows') || element).dispatchEvent(
    new WheelEvent('wheel', {deltaY: pixels, deltaMode: 0, bubbles: true, cancelable: true}))"""
TOPS = """(element) => [...element.querySelectorAll('.monaco-list-row')].map(
    row => row.dataset.index + ':' + row.getBoundingClientRect().top).join()"""
IS_AT_TOP = """(element) => {
    const rows = [...element.querySelectorAll('.monaco-list-row:has(.interactive-item-container)')];
    const first = rows.find(row => row.dataset.index === '0');
    if (first === undefined) return rows.length === 0;
    return first.getBoundingClientRect().top >= element.getBoundingClientRect().top - 1;
}"""
# What is closed is opened once: some buttons do not tell that they are open.
OPEN_ALL = """(session) => {
    const closed = [...session.querySelectorAll('.interactive-item-container [aria-expanded="false"]')]
        .filter(each => each.offsetParent !== null && !each.dataset.judged);
    for (const each of closed) {
        each.dataset.judged = 'opened';
        each.click();
    }
    return closed.length;
}"""
# Lists of files in an answer have rows, too.
READ_ROWS = """(session) => [...session.querySelectorAll('.monaco-list-row:has(.interactive-item-container)')].map(
    row => [row.dataset.index, row.querySelector('.interactive-request') !== null, row.innerText])"""
# The index of a web VS Code is in the browser: a key of a database of the workspace's.
PUT_INDEX = """async ([key, value]) => {
    const names = (await indexedDB.databases()).map(each => each.name).filter(
        name => name.startsWith('vscode-web-state-db-') && !name.endsWith('-global') && !name.includes('profile'));
    for (const name of names) {
        const database = await new Promise((resolve, reject) => {
            const opening = indexedDB.open(name);
            opening.onsuccess = () => resolve(opening.result);
            opening.onerror = () => reject(opening.error);
        });
        if (database.objectStoreNames.contains('ItemTable')) {
            const change = database.transaction('ItemTable', 'readwrite');
            change.objectStore('ItemTable').put(value, key);
            await new Promise(resolve => { change.oncomplete = resolve; });
        }
        database.close();
    }
    return names;
}"""


class RefusedError(Exception):
    """VS Code did not take a file, or did not show it; the message says what it said."""


class Screen:
    """The text of an open chat: prompts, and answers with their tool calls."""

    def __init__(self) -> None:
        self._rows: dict[int, tuple[bool, dict[str, None]]] = {}

    def add(self, rows: list[tuple[str, bool, str]]) -> None:
        """Add the rows that are visible now."""
        for index, is_prompt, text in rows:
            self._rows.setdefault(int(index), (is_prompt, {}))[1][text] = None

    @property
    def prompts(self) -> str:
        return self._text(is_prompt=True)

    @property
    def answers(self) -> str:
        return self._text(is_prompt=False)

    def _text(self, *, is_prompt: bool) -> str:
        rows = [texts for _, (kind, texts) in sorted(self._rows.items()) if kind is is_prompt]
        return "\n".join(text for texts in rows for text in texts)


def write_settings(user_data: Path) -> None:
    """Write the settings and keys of the judge's VS Code."""
    folder = user_data / "User"
    folder.mkdir(parents=True, exist_ok=True)
    keys = [{"key": key.lower(), "command": command} for key, command in KEYS.items()]
    (folder / "settings.json").write_text(json.dumps(SETTINGS), encoding="utf-8")
    (folder / "keybindings.json").write_text(json.dumps(keys), encoding="utf-8")


class JudgePage:
    """One window of VS Code without an account."""

    def __init__(self, context: BrowserContext, url: str, workspace: Path) -> None:
        self._url = url
        self._file = workspace / CHAT_FILE
        self._page: Page = context.new_page()
        self._page.set_viewport_size(VIEWPORT)
        self._page.set_default_timeout(STEP_MS)
        self._page.on("dialog", accept_dialog)
        self._chat = EDITOR

    def open(self) -> None:
        """Open the workspace, and wait for its chat."""
        self._page.goto(self._url, timeout=START_MS)
        self._page.wait_for_selector(".part.auxiliarybar .interactive-session", state="attached", timeout=START_MS)

    def leave(self) -> None:
        """Unload the workbench, and stay where its storage is."""
        self._page.goto(self._url.partition("?")[0] + "healthz")

    def screenshot(self, path: Path) -> None:
        self._page.screenshot(path=str(path))

    # --- a chat from a file -----------------------------------------------------------------------------------------

    def import_chat(self, text: str, *, is_empty: bool) -> None:
        """Import a chat.json; raise RefusedError if VS Code does not show it."""
        self.close_editors()
        self._file.write_text(text, encoding="utf-8")
        self._until_dialog("F6")
        self._page.keyboard.press("Enter")
        self._wait_for_chat(EDITOR, is_empty=is_empty)

    def export_chat(self) -> str:
        """Have VS Code export the open chat, and return the file."""
        self._file.unlink(missing_ok=True)
        self._focus_chat()
        self._until_dialog("F7")
        self._page.keyboard.press("Enter")
        for _ in range(STEP_MS // FRAME_MS):
            if self._file.is_file() and _is_whole(self._file):
                return self._file.read_text(encoding="utf-8")
            self._page.wait_for_timeout(FRAME_MS)
        raise RefusedError("VS Code wrote no export")

    def close_editors(self) -> None:
        """Close all editors."""
        for _ in range(STEP_MS // 1000):
            if not self._page.locator(".editor-group-container .tab").count():
                return
            self._page.keyboard.press("Escape")
            self._page.keyboard.press("F8")
            self._page.wait_for_timeout(3 * FRAME_MS)

    def _until_dialog(self, key: str) -> None:
        """Press a key until its file dialog is there, with the name of the chat's file."""
        field = self._page.locator(".quick-input-widget:visible input").first
        for _ in range(STEP_MS // LOOK_MS + 3):
            self._page.keyboard.press(key)
            for _ in range(LOOK_MS // FRAME_MS // 4):
                if field.count() and field.input_value().endswith(CHAT_FILE):
                    self._page.wait_for_timeout(FRAME_MS)
                    return
                self._page.wait_for_timeout(FRAME_MS)
            self._page.keyboard.press("Escape")
        raise RefusedError(f"{KEYS[key]} opened no dialog")

    def _wait_for_chat(self, chat: str, *, is_empty: bool) -> None:
        """Wait until a chat shows something."""
        self._chat = chat
        wanted = self._page.locator(chat if is_empty else f"{chat} .interactive-item-container")
        for _ in range(LOOK_MS // FRAME_MS):
            if wanted.count():
                self._page.wait_for_timeout(SETTLE_MS)
                return
            if (dialog := self._dialog()) is not None:
                raise RefusedError(dialog)
            self._page.wait_for_timeout(FRAME_MS)
        raise RefusedError("opens empty")

    def _dialog(self) -> str | None:
        """Return what a dialog or a notification says that reports an error, and close it."""
        box = self._page.locator(".monaco-dialog-box, .notification-toast .notification-list-item-message")
        texts = [text for text in box.all_inner_texts() if REFUSED in text or "rror" in text]
        if not texts:
            return None
        self._page.keyboard.press("Escape")
        return " ".join(texts)[:300]

    # --- sessions ---------------------------------------------------------------------------------------------------

    def put_index(self, key: str, index: str) -> list[str]:
        """Write VS Code's index of sessions, while the workbench is unloaded; return the databases that have it now."""
        names: list[str] = self._page.evaluate(PUT_INDEX, [key, index])
        return names

    def open_session(self, title: str) -> None:
        """Open a session from VS Code's list; raise RefusedError if it is not listed, or opens empty."""
        row = self._listed(title)
        if row is None:
            raise RefusedError("is not listed")
        before = self._side_text()
        row.click()
        self._wait_for_chat(SIDE, is_empty=False)
        for _ in range(SAME_MS // FRAME_MS):  # until then, it may be the session that was open before
            if self._side_text() != before:
                break
            self._page.wait_for_timeout(FRAME_MS)
        self._page.wait_for_timeout(SETTLE_MS)

    def _side_text(self) -> str:
        return "\n".join(self._page.locator(f"{SIDE} .interactive-item-container").all_inner_texts())

    def show_sessions(self) -> None:
        """Show the list of sessions, with everything that is folded."""
        rows = self._page.locator(SESSION)
        for _ in range(STEP_MS // LOOK_MS + 3):
            self._page.keyboard.press("F9")
            try:
                rows.first.wait_for(timeout=LOOK_MS)
            except TimeoutOfPage:
                continue
            self._page.wait_for_timeout(SETTLE_MS)
            return
        raise RefusedError("VS Code lists no session")

    def _listed(self, title: str) -> Locator | None:
        """Return the row of a session, scrolled into view."""
        viewer = self._page.locator(".agent-sessions-viewer .monaco-list").first
        row = self._page.locator(SESSION, has_text=title).first
        for first in (0, -1_000_000):
            if first:
                viewer.evaluate(WHEEL, first)
            for _ in range(MOST_SCROLLS):
                self._page.wait_for_timeout(FRAME_MS)
                if row.count():
                    return row
                if not self._moves(viewer):
                    break
        return None

    def _moves(self, element: Locator) -> bool:
        """Scroll down, and return whether that has moved anything."""
        before = element.evaluate(TOPS)
        element.evaluate(WHEEL, VIEWPORT["height"] // 2)
        for _ in range(MOST_OPENINGS):
            self._page.wait_for_timeout(FRAME_MS)
            if element.evaluate(TOPS) != before:
                return True
        return False

    # --- the screen -------------------------------------------------------------------------------------------------

    def read_screen(self) -> Screen:
        """Read the open chat from top to bottom, with everything opened that is folded."""
        screen = Screen()
        chat = self._page.locator(self._chat).first
        rows = chat.locator(".interactive-list .monaco-list").first
        state = ""
        for _ in range(MOST_OPENINGS):  # rows above change their heights when they are drawn
            rows.evaluate(WHEEL, -1_000_000)
            self._page.wait_for_timeout(SETTLE_MS)
            before, state = state, rows.evaluate(TOPS)
            if rows.evaluate(IS_AT_TOP) or (state == before and "0:" in state.split(",")[0]):
                break
        for _ in range(MOST_SCROLLS):
            for _ in range(MOST_OPENINGS):
                if not chat.evaluate(OPEN_ALL):
                    break
                self._page.wait_for_timeout(SETTLE_MS)
            screen.add([tuple(row) for row in chat.evaluate(READ_ROWS)])
            if not self._moves(rows):
                break
        return screen

    def _focus_chat(self) -> None:
        editor = self._page.locator(f"{self._chat} .interactive-input-part .monaco-editor").first
        if editor.count():
            editor.click(force=True)


def _is_whole(path: Path) -> bool:
    try:
        json.loads(path.read_bytes())
    except ValueError:
        return False
    return True
