"""Find conversations that VS Code or Copilot CLI do not show, say why, and bring them back.

`refusals` judges a session file by the rules of the program that wrote it, `indexes` the list that VS Code keeps of
its sessions, `workspaces` the folder that a workspace's storage belongs to; `losses` puts them together. `repairing`
makes the smallest change by which VS Code loads a session again, `journal` writes it and undoes it.
"""
