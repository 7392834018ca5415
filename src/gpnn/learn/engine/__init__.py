"""Many models trained side by side: folds, seeds and hyper-parameters as replicas of one step."""

from .eager import train_one_by_one
from .replica import Curves, Replica, Schedule
from .trainer import train_replicas

__all__ = ["Curves", "Replica", "Schedule", "train_one_by_one", "train_replicas"]
