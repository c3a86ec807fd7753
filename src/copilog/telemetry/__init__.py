"""Event streams of telemetry to conversation trajectories. The rules, R-1 to R-41: docs/formats/telemetry.md"""
