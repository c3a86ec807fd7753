"""What `trajectory_file` is made of. Format notes: docs/formats/trajectories.md"""
