"""Conversations as lines of JSON: what `copilog extract` writes, and `sources/trajectories` reads back."""

from __future__ import annotations

from copilog.trajectory.conversations import trajectories_of, trajectory_of
from copilog.trajectory.line_format import (
    ConversationTrajectory,
    TrajectoryMessage,
    TrajectoryMetadata,
    encode_trajectory,
    encoded,
    trajectory_pieces,
)

__all__ = [
    "ConversationTrajectory",
    "TrajectoryMessage",
    "TrajectoryMetadata",
    "encode_trajectory",
    "encoded",
    "trajectories_of",
    "trajectory_of",
    "trajectory_pieces",
]
