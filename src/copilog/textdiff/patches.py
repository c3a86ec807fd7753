"""The change of one file as a patch that `git apply` takes, with git's own header."""

from __future__ import annotations

from copilog.textdiff.diffs import diff_of, shown_path

MODE = "100644"


def git_patch(before: str | None, after: str | None, path: str, old_path: str | None = None) -> str:
    """Return the patch of a file; empty if nothing changes. None is a file that does not exist.

    With `old_path`, the file is renamed from there.
    """
    old = old_path or path
    hunks = diff_of(before, after, path, old).text.split("\n", 2)[2:]
    if not hunks and old == path and (before is None) == (after is None):
        return ""
    head = [f"diff --git {shown_path('a', old)} {shown_path('b', path)}"]
    if before is None:
        head.append(f"new file mode {MODE}")
    elif after is None:
        head.append(f"deleted file mode {MODE}")
    elif old != path:
        if not hunks:
            head.append("similarity index 100%")
        head += [f"rename from {shown_path('', old)}", f"rename to {shown_path('', path)}"]
    if hunks:
        head += [f"--- {_named(before, 'a', old)}", f"+++ {_named(after, 'b', path)}"]
    return "\n".join(head) + "\n" + "".join(hunks)


def _named(text: str | None, side: str, path: str) -> str:
    """Return a file as the lines above the hunks name it: git marks the end of a name that has a space with a tab."""
    if text is None:
        return "/dev/null"
    name = shown_path(side, path)
    return f"{name}\t" if " " in name and not name.startswith('"') else name
