"""A prompt as agents get it, for tests of the tags in it."""

AGENT_PROMPT = """\
<attachments>
<attachment id="main.py" filePath="/repo/main.py">
print("<context>")
</attachment>
</attachments>
<context>
The current date is May 1, 2026.
<todoList>
1. rest
</todoList>
</context>
<reminderInstructions>
Think first.
</reminderInstructions>
<userRequest>
Why does it print that?
</userRequest>
"""
