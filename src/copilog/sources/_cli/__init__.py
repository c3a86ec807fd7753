"""How Copilot CLI writes its sessions down, taken apart. Format notes: docs/formats/copilot-cli.md"""
