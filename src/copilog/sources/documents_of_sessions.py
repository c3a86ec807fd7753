"""The files that a session saves for itself, as documents, whether its folder or a store's index has them."""

from __future__ import annotations

from copilog.model import AnyDocument, ArtifactDocument, PlanDocument, ResearchDocument

PLAN = "plan.md"
RESEARCH = "research/"


def saved_document(path: str | None, text: str | None, size: int | None, traces: list[str]) -> AnyDocument:
    """Return the document of a saved file, by its path in the session. One without text has its size instead."""
    if path == PLAN and text is not None:
        return PlanDocument(text=text, path=path, traces=traces)
    kind = ResearchDocument if path is not None and path.startswith(RESEARCH) else ArtifactDocument
    return kind(text=text or "", path=path, size=size if text is None else None, traces=traces)
