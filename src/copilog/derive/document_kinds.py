"""Bring documents of other versions' JSON to the kinds of this version, so that none of them is lost."""

from __future__ import annotations

from typing import Any, get_args

from copilog.model import AnyDocument, OtherDocument

FILE = "file"  # until 0.2, the kind of artifacts and research
OTHER = "other"
_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in get_args(AnyDocument))
_FIELDS = frozenset(OtherDocument.__struct_fields__) - {"type"}


def with_known_kinds(conversation: dict[str, Any]) -> dict[str, Any]:
    """Return a decoded conversation whose documents have kinds of the model; a foreign kind is kept as its type."""
    documents = conversation.get("documents")
    if not isinstance(documents, list):
        return conversation
    return {**conversation, "documents": [_with_known_kind(document) for document in documents]}


def _with_known_kind(document: Any) -> Any:
    kind = document.get("kind") if isinstance(document, dict) else None
    if not isinstance(kind, str) or (kind in _KINDS and (kind != OTHER or "type" in document)):
        return document
    if kind == FILE:
        is_research = str(document.get("path")).startswith("research/")
        return {**document, "kind": "research" if is_research else "artifact"}
    extra = document.get("extra")
    left = {name: value for name, value in document.items() if name not in _FIELDS and name != "kind"}
    made = {name: value for name, value in document.items() if name in _FIELDS}
    if left and (extra is None or isinstance(extra, dict)):
        made["extra"] = {**(extra or {}), **left}
    return {**made, "kind": OTHER, "type": kind}
