"""Offer prompts, which a user starts, and resources, which a user attaches, where a client supports them."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver.exceptions import ResourceError, ToolError
from mcp.server.mcpserver.prompts import Prompt
from pydantic import Field

from copilog.mcp import questions
from copilog.mcp.calls import CheckedServer
from copilog.mcp.desk import Desk
from copilog.mcp.fitting import fitted
from copilog.store.selection import Selection

RESOURCE_BUDGET = 8_000  # tokens
RECENT = 30

RECALL = """\
What do my earlier Copilot conversations say about this: {topic}

Call copilog's search with the question as it is, then read around the best hits. Answer with what was decided and why,
which commands and files were involved, and the conversation and turn of each statement. Say what the conversations do
not answer, and what may be outdated."""
CATCH_UP = """\
What did I work on since {since}?

Call copilog's search with since="{since}" and without a query, then read the conversations that matter, and call
commands and files for the same period. Group by project: what was done, what is open, the commands that worked."""


def add_prompts(server: CheckedServer) -> None:
    def recall(topic: str) -> str:
        return RECALL.format(topic=topic)

    def catch_up(since: Annotated[str, Field(description="7d, last week, 2026-05")] = "7d") -> str:
        return CATCH_UP.format(since=since)

    for prompt, about in ((recall, "What earlier conversations say on a topic"), (catch_up, "What was done lately")):
        server.add_prompt(Prompt.from_function(prompt, description=about))


def add_resources(server: CheckedServer, desk: Desk) -> None:
    @server.resource("copilog://recent", name="recent", description="The last conversations", mime_type="text/plain")
    def recent() -> str:
        try:
            answer = desk.ask(lambda archive: questions.list_conversations(archive, Selection(), RECENT, 0))
        except ToolError as error:
            raise ResourceError(str(error)) from error
        return fitted(answer)[1]

    @server.resource(
        "copilog://conversation/{id}", name="conversation", description="A conversation", mime_type="text/markdown"
    )
    def conversation(id: str) -> str:  # noqa: A002
        try:
            answer = desk.ask(lambda archive: questions.read_window(archive, id, questions.Start(), RESOURCE_BUDGET))
        except ToolError as error:
            raise ResourceError(str(error)) from error
        return questions.window_text(answer)
