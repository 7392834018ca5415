"""The trials of a search, kept by Optuna in a file.

What is proposed next depends on the seed and on the trials that are settled, so that a search that
was killed goes on as if it had not been; the trial it was at is proposed again.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from ..errors import InputError
from ..train.checkpoint import describe_difference
from .search_space import SearchSpace

__all__ = ["STORAGE", "Trial", "Trials", "need_optuna"]

STORAGE = "search.db"


@dataclass(frozen=True)
class Trial:
    """A settled trial.

    Attributes:
        number: from 1.
        values: of the fields searched.
        value, std: of the validation metric over the models, at ``epoch``; ``None`` if it failed.
        parameters: of one model; seconds: of the trial.
        reason: why it failed, or "".
    """

    number: int
    values: Mapping[str, Any]
    value: float | None = None
    std: float | None = None
    epoch: int | None = None
    parameters: int | None = None
    seconds: float = 0.0
    reason: str = ""


class Trials:
    """The storage in a folder; ``about`` is what makes the search this search and no other."""

    def __init__(
        self, folder: Path, about: Mapping[str, Any], higher: bool, space: SearchSpace, seed: int
    ) -> None:
        import optuna

        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self.higher, self.space, self.seed = higher, space, seed
        self._study = optuna.create_study(
            storage=f"sqlite:///{(folder / STORAGE).resolve().as_posix()}",
            study_name="search",
            direction="maximize" if higher else "minimize",
            load_if_exists=True,
        )
        here = json.loads(json.dumps(about))
        there = self._study.user_attrs.get("about")
        if there is None:
            self._study.set_user_attr("about", here)
        elif there != here:
            raise InputError(
                f"{folder} holds another search ({describe_difference(there, here)}). Choose "
                "another folder with --out, or start over there with --fresh."
            )
        for left in self._study.get_trials(states=(optuna.trial.TrialState.RUNNING,)):
            self._study.tell(left.number, state=optuna.trial.TrialState.FAIL)
        self.settled = tuple(
            Trial(number, trial.params, **trial.user_attrs["outcome"])
            for number, trial in enumerate(
                (t for t in self._study.get_trials() if "outcome" in t.user_attrs), start=1
            )
        )

    @property
    def best(self) -> Trial | None:
        """The best trial, the earliest among equals."""
        held = [(trial.value, trial) for trial in self.settled if trial.value is not None]
        if not held:
            return None
        wanted = (max if self.higher else min)(value for value, _ in held)
        return next(trial for value, trial in held if value == wanted)

    def ask(self) -> tuple[Any, dict[str, Any]]:
        """A proposal, its ticket and its values; of a finite space one that was not tried yet."""
        import optuna

        seed = (self.seed * 1_000_003 + len(self.settled)) % 2**32
        self._study.sampler = optuna.samplers.TPESampler(seed=seed)
        ticket = self._study.ask()
        values = self.space.suggest(ticket)
        tried = [dict(trial.values) for trial in self.settled]
        if values in tried and self.space.size < math.inf:
            self._study.tell(ticket, state=optuna.trial.TrialState.FAIL)
            size = int(self.space.size)
            start = random.Random(seed).randrange(size)
            points = map(self.space.point, chain(range(start, size), range(start)))
            self._study.enqueue_trial(next(point for point in points if point not in tried))
            ticket = self._study.ask()
            values = self.space.suggest(ticket)
        return ticket, values

    def settle(self, ticket: Any, trial: Trial) -> None:
        """Keep what came of a proposal."""
        import optuna

        outcome = {k: v for k, v in vars(trial).items() if k not in ("number", "values")}
        ticket.set_user_attr("outcome", outcome)
        if trial.value is None:
            self._study.tell(ticket, state=optuna.trial.TrialState.FAIL)
        else:
            self._study.tell(ticket, trial.value)
        self.settled += (trial,)


def need_optuna() -> None:
    """Refuse to go on without Optuna."""
    if find_spec("optuna") is None:
        raise InputError(
            "A search needs Optuna, which is not installed. Get it with pip install 'gpnn[search]'."
        )
