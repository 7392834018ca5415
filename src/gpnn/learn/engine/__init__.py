"""Many models trained side by side: folds, seeds and hyper-parameters as replicas of one step."""

from .eager import train_one_by_one
from .replica import Curves, Paused, Replica, Schedule
from .trainer import train_replicas

__all__ = ["Curves", "Paused", "Replica", "Schedule", "train_one_by_one", "train_replicas"]
