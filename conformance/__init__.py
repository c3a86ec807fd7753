"""Real programs as writers: scripted runs of them with a known truth, compared with what copilog reads.

scenario       data: prompts, the model's answers, what the driver does, and what must follow
model_server   a scripted model on loopback; its log of served calls is half of the truth
cli_driver, tui_driver, vscode*    run a program
truth          the facts of a run: scenario and log -> (kind, where, expected)
observe        what copilog reads from the folder that the program wrote, in the same terms
compare        equal, different, or not recorded by the program
"""
