"""Other programs that read what Copilot writes, compared with the same facts: agentsview and ccusage.

Each runs as published, on a copy of the folder that a run of the suite wrote. Only facts that the program claims to
read are compared (`claims.yaml`). What it answers and what is expected are brought into one form before (`forms.py`),
so that a name, a space or a sum that is written in another way is not a difference.
"""
