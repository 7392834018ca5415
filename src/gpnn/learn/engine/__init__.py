"""Many models trained side by side: folds, seeds and hyper-parameters as replicas of one step."""

from .eager import train_one_by_one
from .ready import Ready, make_ready
from .replica import Curves, Paused, Replica, Schedule
from .setup import Setup, set_up
from .trainer import train_ready, train_replicas

__all__ = [
    "Curves",
    "Paused",
    "Ready",
    "Replica",
    "Schedule",
    "Setup",
    "make_ready",
    "set_up",
    "train_one_by_one",
    "train_ready",
    "train_replicas",
]
