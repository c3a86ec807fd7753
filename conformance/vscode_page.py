"""The workbench of VS Code in a browser: what a user does in its chat, with every effect awaited.

Names of classes and labels are those of the versions that `vscode_setup` installs.
"""

from __future__ import annotations

import re

from playwright.sync_api import BrowserContext, Dialog, Locator, Page, ViewportSize, expect
from playwright.sync_api import TimeoutError as TimeoutOfPage

# Limits, not waits: a busy machine may be five times slower than a free one.
START_MS = 300_000
STEP_MS = 60_000
LOOK_MS = 3_000  # after which what does not change while it is open is opened again
FRAME_MS = 50  # in which the page shows what a key has done
VIEWPORT = ViewportSize(width=1600, height=3000)  # high, as the list of messages only has what is visible
MANAGE_MODELS = "Chat: Manage Language Models"  # opening it starts Copilot Chat
PICTURE = """async (color) => {
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 8;
    const drawing = canvas.getContext('2d');
    drawing.fillStyle = color;
    drawing.fillRect(0, 0, 8, 8);
    const blob = await new Promise(resolve => canvas.toBlob(resolve, 'image/png'));
    await navigator.clipboard.write([new ClipboardItem({'image/png': blob})]);
}"""


class Workbench:
    """One window of VS Code, with a folder and its chat open."""

    def __init__(self, context: BrowserContext, url: str, model: str) -> None:
        self._url = url
        self._page: Page = context.new_page()
        self._page.set_default_timeout(STEP_MS)
        self._page.on("dialog", accept_dialog)
        self._page.goto(url, timeout=START_MS)
        self._page.wait_for_selector(".interactive-input-part .action-label", state="attached", timeout=START_MS)
        self.run_command(MANAGE_MODELS)
        expect(self._label(model)).to_be_visible(timeout=START_MS)
        self._page.keyboard.press("Escape")
        expect(self._page.locator(".modal-editor-part")).to_have_count(0)

    @property
    def chat(self) -> Locator:
        """The chat in the side bar."""
        return self._page.locator(".part.auxiliarybar .interactive-session")

    def screenshot(self, path: str) -> None:
        """Save what is visible."""
        self._page.screenshot(path=path)

    def bring_to_front(self) -> None:
        """Give the window the focus."""
        self._page.bring_to_front()

    def close(self) -> None:
        """Unload the workbench, as closing its window does, so that it saves what it has."""
        self._page.goto(self._url.partition("?")[0] + "healthz")
        self._page.close()

    def run_command(self, title: str) -> None:
        """Run a command of the palette by its title, once the palette has it."""
        field = self._page.locator(".quick-input-widget input").first
        row = self._page.locator(".quick-input-list .monaco-list-row").first
        for _ in range(START_MS // LOOK_MS):
            self._page.keyboard.press("F1")
            field.fill(f">{title}")
            try:
                expect(row).to_contain_text(title, timeout=LOOK_MS)
            except AssertionError:
                self._page.keyboard.press("Escape")  # the palette does not change while it is open
                expect(field).to_be_hidden()
                continue
            self._page.keyboard.press("Enter")
            expect(field).to_be_hidden()
            return
        raise TimeoutOfPage(f"there is no command {title!r}")

    def press(self, keys: list[str]) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self._page.keyboard.press(key)

    def send(self, text: str) -> None:
        """Type a prompt and send it."""
        editor = self._input.locator(".monaco-editor").first
        editor.click()
        self._type_and_send(text)

    def edit(self, old: str, text: str) -> None:
        """Edit the prompt that holds `old`, and send it again."""
        request = self.chat.locator(".interactive-request", has_text=old).last
        request.locator(".rendered-markdown").first.click()
        expect(self.chat.locator(".interactive-request.editing")).to_have_count(1)
        self._page.keyboard.press("Control+A")
        self._type_and_send(text)

    def wait_until_ended(self, milliseconds: float = START_MS) -> None:
        """Wait until no answer is running."""
        expect(self._input.locator('[aria-label^="Send"]').first).to_be_attached(timeout=milliseconds)
        expect(self._input.locator('[aria-label^="Cancel"]')).to_have_count(0, timeout=milliseconds)

    def cancel(self) -> None:
        """Stop the running answer."""
        self._input.locator('[aria-label^="Cancel"]').first.click()
        self.wait_until_ended()

    def approve(self, button: str) -> None:
        """Press a button of the confirmation that is, or will be, shown."""
        self._button(button).first.click(timeout=START_MS)

    def keep(self) -> None:
        """Keep all edits."""
        self._button("Keep").first.click()
        expect(self._button("Keep")).to_have_count(0)

    def undo(self) -> None:
        """Undo all edits, and confirm it where that is asked."""
        self._button("Undo").first.click()
        self._confirm("Yes", self._button("Undo"))

    def restore(self, prompt: str) -> None:
        """Go back to the checkpoint before a prompt."""
        request = self.chat.locator(".interactive-request", has_text=prompt).last
        request.hover()
        request.locator('[aria-label^="Restores"]').first.click()
        self._confirm("Yes", self.chat.locator(".interactive-request", has_text=prompt))

    def retry(self) -> None:
        """Ask for the last answer again."""
        self._last('[aria-label="Retry"]').click()

    def vote(self, which: str) -> None:
        """Say that the last answer was helpful, or not."""
        self._last(f'[aria-label="{"Helpful" if which == "up" else "Unhelpful"}"]').click()

    def attach_picture(self, color: str) -> None:
        """Paste a small picture into the input."""
        self._page.evaluate(PICTURE, color)
        self._input.locator(".monaco-editor").first.click()
        self._page.keyboard.press("Control+V")
        expect(self._input.locator(".chat-attached-context-attachment").first).to_be_visible()

    def choose_mode(self, name: str) -> None:
        """Choose a mode or a custom agent."""
        self._choose(".chat-mode-picker-item", name)

    def choose_model(self, name: str) -> None:
        """Choose a model."""
        self._choose(".model-picker-item", name)

    def new_session(self) -> None:
        """Start a new conversation."""
        self._page.locator('.part.auxiliarybar .title [aria-label^="New Chat"]').first.click()
        expect(self.chat.locator(".interactive-request")).to_have_count(0)

    def fork(self) -> None:
        """Fork the conversation at its last prompt."""
        request = self.chat.locator(".interactive-request").last
        request.hover()
        request.locator('[aria-label^="Fork"]').first.click()

    def see(self, text: str) -> None:
        """Wait until the chat shows a text."""
        expect(self.chat.first).to_contain_text(text, timeout=START_MS)

    @property
    def _input(self) -> Locator:
        return self.chat.locator(".interactive-input-part:not(.interactive-request *)").last

    def _label(self, text: str) -> Locator:
        return (
            self._input.locator(".action-label, .model-picker-name")
            .filter(has_text=re.compile(rf"^{re.escape(text)}$"))
            .first
        )

    def _button(self, text: str) -> Locator:
        exactly = re.compile(rf"^\s*{re.escape(text)}\s*$")
        return self.chat.locator(".monaco-button:visible").filter(has_text=exactly)

    def _last(self, selector: str) -> Locator:
        response = self.chat.locator(".interactive-response").last
        response.hover()
        return response.locator(selector).last

    def _choose(self, picker: str, name: str) -> None:
        """Choose a row of a picker by the keyboard, once the picker has it: in 1.133 something lies over the rows."""
        rows = self._page.locator(".action-widget .monaco-list-row")
        wanted = re.compile(rf"^\s*{re.escape(name)}")
        for _ in range(START_MS // LOOK_MS):
            self._input.locator(f"{picker} .action-label").first.click()
            if self._page.locator(".action-widget input").count():
                self._page.keyboard.type(name)  # all but the last one used are in a section that is closed
            try:
                rows.filter(has_text=wanted).first.wait_for(timeout=LOOK_MS)
                self._focus(rows, wanted)
            except TimeoutOfPage:
                self._page.keyboard.press("Escape")  # the list does not change while it is open
                continue
            self._page.keyboard.press("Enter")
            expect(self._label(name)).to_be_visible()
            return
        raise TimeoutOfPage(f"{picker} has no {name!r}")

    def _focus(self, rows: Locator, wanted: re.Pattern[str]) -> None:
        """Move down a list until the row has the focus."""
        focused = self._page.locator(".action-widget .monaco-list-row.focused").filter(has_text=wanted)
        for _ in range(2 * rows.count()):  # it begins anew behind the last one
            if focused.count():
                return
            self._page.keyboard.press("ArrowDown")
            self._page.wait_for_timeout(FRAME_MS)
        if not focused.count():
            raise TimeoutOfPage(f"no row {wanted.pattern!r} gets the focus")

    def _type_and_send(self, text: str) -> None:
        if "\n" in text:  # typed lines would be indented
            self._page.evaluate("text => navigator.clipboard.writeText(text)", text)
            self._page.keyboard.press("Control+V")
        else:
            self._page.keyboard.insert_text(text)
        self._page.keyboard.press("Enter")
        expect(self.chat.locator(".interactive-request.editing")).to_have_count(0)
        mark = text.split()[-1]  # the page shows Markdown
        expect(self.chat.locator(".interactive-request", has_text=mark).last).to_be_visible()

    def _confirm(self, button: str, until_gone: Locator) -> None:
        dialog = self._page.locator(".monaco-dialog-box").get_by_role("button", name=button)
        for _ in range(STEP_MS // 100):
            if dialog.count():
                dialog.first.click()
            elif not until_gone.count():
                return
            self._page.wait_for_timeout(100)
        raise TimeoutOfPage(f"{until_gone} did not disappear")


def accept_dialog(dialog: Dialog) -> None:
    """Let the page unload."""
    dialog.accept()
