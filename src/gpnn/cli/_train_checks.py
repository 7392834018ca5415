"""Options of ``gpnn train`` that exclude each other or would have no effect."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ..errors import InputError
from ..options import AUTO

if TYPE_CHECKING:
    from ..data.samples import Samples

__all__ = ["check_options_together", "check_ranks", "check_source", "is_given"]


def is_given(context: typer.Context, name: str) -> bool:
    """Whether the user gave an option on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def check_options_together(context: typer.Context) -> None:
    """Refuse combinations of options, before anything is read."""
    from ..train.effort import schedule_for
    from ..train.setup import named_model

    asked = context.params
    peer = f"--model {asked['model']}" if named_model(asked["model"]) else ""
    auto, thorough = asked["scheme"] == AUTO, asked["effort"] == "thorough"
    folds, ensemble = asked["folds"], asked["ensemble"]
    if auto:
        if wrong := _names({"--folds": folds, "--calibrate": asked["calibrate"]}):
            raise InputError(
                f"--scheme {AUTO} chooses with the training and validation samples, and {wrong} "
                f"would measure on them: leave out {wrong}. 'gpnn bench schemes -m {AUTO}' "
                "measures the choice on test samples."
            )
        if wrong := _names(
            {"--baseline": asked["baseline"], peer: peer, "--effort thorough": thorough}
        ):
            raise InputError(
                f"--scheme {AUTO} searches among GPNNs and the base GNN alone: leave out {wrong}."
            )
    if peer and asked["baseline"]:
        raise InputError(f"Give either {peer} or --baseline, not both.")
    if peer or asked["baseline"]:
        given = {f"--{name}": is_given(context, name) for name in
                 ("scheme", "interactions", "d", "distances", "labels", "join")}  # fmt: skip
        wrong = _names({"--base": peer and is_given(context, "base"), **given})
        if wrong:
            raise InputError(f"{peer or '--baseline'} trains without GPNN: leave out {wrong}.")
    if folds is not None and ensemble != 1:
        raise InputError("Give either --folds or --ensemble, not both.")
    if asked["calibrate"] and ensemble < 3 and not thorough:
        raise InputError("--calibrate needs --ensemble 3 or more.")
    if folds is not None and (asked["baselines"] or thorough or asked["split"] == "column"):
        raise InputError(
            "--folds cannot be used with --baselines or --effort thorough, and makes its own split."
        )
    if asked["minutes"] is not None and not thorough and not auto:
        raise InputError(
            "--minutes is the time of a search: give --scheme auto or --effort thorough with it."
        )
    if asked["jobs"] is not None and not auto:
        raise InputError(
            "--jobs is for --scheme auto. To train one network in several processes: 'torchrun "
            "--nproc-per-node 2 -m gpnn train …'."
        )
    schedule_for(1, asked["effort"])


def check_ranks(context: typer.Context) -> None:
    """Refuse what several processes cannot do."""
    asked = context.params
    if asked["baselines"] or asked["scheme"] == AUTO or asked["effort"] == "thorough":
        raise InputError(
            "Several processes train one network: leave out --baselines, --scheme auto and "
            "--effort thorough."
        )


def check_source(context: typer.Context, samples: Samples) -> None:
    """Refuse options that need another kind of source."""
    from ..data.prepared_folder import PreparedSamples
    from ..train.setup import named_model

    asked = context.params
    thorough = asked["effort"] == "thorough"
    if asked["baselines"] and not samples.from_smiles:
        raise InputError("--baselines need molecules, given as SMILES or in an SDF file.")
    own = (asked["baseline"], asked["baselines"], asked["scheme"] == AUTO, thorough)
    if isinstance(samples, PreparedSamples) and (any(own) or named_model(asked["model"])):
        raise InputError(
            f"{asked['source']} was prepared for one GPNN: --baseline, --model, --baselines, "
            "--scheme auto and --effort thorough need the table itself."
        )
    if asked["effort"] != "standard" and not samples.from_smiles:
        raise InputError("--effort is for tables of molecules. Set --epochs for other graphs.")


def _names(options: dict[str, object]) -> str:
    """The names of the options that are set."""
    return ", ".join(name for name, value in options.items() if value)
