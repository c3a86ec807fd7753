"""Folders for tests of where conversations lie."""

from pathlib import Path


def folder(path: Path, *parts: str) -> Path:
    path = path.joinpath(*parts)
    path.mkdir(parents=True, exist_ok=True)
    return path
