from __future__ import annotations

from pathlib import Path

from gpnn.plots.curves import draw_curves
from gpnn.plots.save import save


def test_curves_show_losses_metric_and_the_epoch_kept(tmp_path: Path) -> None:
    history = [
        {"epoch": k, "loss": 1 / k, "valid_loss": 50.0 if k == 1 else 1.2 / k, "valid_mae": 2 / k}
        for k in range(1, 21)
    ]
    figure = draw_curves([history], "mae", [20], "a run", test=0.3)
    left, right = figure.axes
    assert [line.get_label() for line in left.lines][:2] == ["train", "valid"]
    assert left.get_ylim()[1] < 50
    assert right.get_title(loc="left") == "mean absolute error"
    texts = [text.get_text() for text in right.get_legend().get_texts()]
    assert texts == ["valid", "kept: epoch 20, 0.1", "test, 0.3"]
    save(figure, tmp_path / "curves.png")
    assert (tmp_path / "curves.png").stat().st_size > 10_000


def test_one_epoch_and_no_metric() -> None:
    history = [{"epoch": 1, "loss": 0.5, "valid_loss": 0.4}]
    figure = draw_curves([history], "roc_auc", [1], "short")
    assert len(figure.axes) == 2


def test_several_networks_have_a_line_each() -> None:
    history = [{"epoch": k, "loss": 1 / k, "valid_loss": 1 / k, "valid_accuracy": 0.5}
               for k in (1, 2, 3)]  # fmt: skip
    figure = draw_curves([history, history[:2]], "accuracy", [3, 1], "two", test=0.6)
    left, right = figure.axes
    assert [len(line.get_xdata()) for line in left.lines] == [3, 3, 2, 2]
    texts = [text.get_text() for text in right.get_legend().get_texts()]
    assert texts == ["valid", "kept epochs", "test, 0.6"]
