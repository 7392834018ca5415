"""The page in a real browser. Every test fails on a console error or a request to elsewhere, and
reads what the canvas shows from its accessible mirror."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import networkx as nx
import pytest

pytest.importorskip("playwright.sync_api", reason="playwright is not installed: gpnn[e2e]")

from playwright.sync_api import Browser, expect, sync_playwright

from explore.browser import Screen

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
expect.set_options(timeout=20_000)
REFUSED = "Failed to load resource: the server responded with a status of 400 (Bad Request)"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield found
        found.close()


@pytest.fixture
def screen(browser: Browser, explorer: Any) -> Iterator[Callable[..., Screen]]:
    """``screen(url=…, **options)`` opens a page in a fresh profile."""
    made: list[Screen] = []

    def new(url: str = explorer.url, allowed: str | None = None, **options: Any) -> Screen:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        context.set_default_timeout(20_000)
        one = Screen(context.new_page(), url, allowed)
        made.append(one)
        return one

    yield new
    for one in made:
        one.page.context.close()
        assert one.trouble == []


def test_opens_with_a_pair_cut_into_parts(screen):
    page = screen().open()
    expect(page.caption(0)).to_contain_text("decalin: 10 vertices, 7 within edges, 4 cross edges")
    expect(page.caption(1)).to_contain_text("bicyclopentyl: 10 vertices")
    assert page.page.locator("#parts li").all_inner_texts() == [
        "1\n2, degree > 2\n2 | 2", "2\n2, degree = 2\n8 | 8",
    ]  # fmt: skip
    assert page.page.locator(".kinds b").all_inner_texts() == ["7 | 7", "4 | 4", "6 | 6"]
    assert page.edges()[0, 5] == "within" and page.edges()[0, 1] == "cross"
    assert {row["vertex"] for row in page.rows() if row["border"] == "no"} == {"2", "3", "7", "8"}


def test_draw_by_clicking_and_dragging(screen):
    page = screen().open()
    page.page.click("#blank")
    for x, y in ((0.3, 0.3), (0.7, 0.3), (0.5, 0.8), (0.8, 0.8)):
        page.click_sheet(x, y)
    expect(page.caption()).to_contain_text("drawing: 4 vertices")
    page.page.mouse.click(*page.at(0))
    page.page.mouse.click(*page.at(1))
    expect(page.caption()).to_contain_text("1 within")
    for start, end in ((1, 2), (2, 0), (2, 3)):
        page.page.mouse.move(*page.at(start))
        page.page.mouse.down()
        page.page.mouse.move(*page.at(end), steps=4)
        page.page.mouse.up()
        page.page.wait_for_timeout(50)
    expect(page.caption()).to_contain_text("3 within edges, 1 cross edges")
    assert page.edges() == {(0, 1): "within", (1, 2): "within", (0, 2): "within", (2, 3): "cross"}
    assert [row["part"] for row in page.rows()] == ["2, degree = 2"] * 2 + ["2, degree = 2", "1"]
    page.choose("mode", "erase")
    page.page.mouse.click(*page.at(3))
    expect(page.caption()).to_contain_text("3 vertices, 3 within edges, 0 cross")
    page.page.click("#undo")
    expect(page.caption()).to_contain_text("4 vertices, 3 within edges, 1 cross")


def test_paste_edges_graph6_and_smiles(screen):
    page = screen().open()
    page.page.click("#own summary")
    page.page.fill("#text", "a b\nb c\nc a\nc d")
    page.page.click("#typed button")
    expect(page.caption()).to_contain_text("pasted edges: 4 vertices, 3 within edges, 1 cross")
    assert [row["name"] for row in page.rows()] == ["a", "b", "c", "d"]
    page.choose("kind", "graph6")
    page.page.fill("#text", "DqK")
    page.page.click("#typed button")
    expect(page.caption()).to_contain_text("pasted graph6: 5 vertices")
    pytest.importorskip("rdkit")
    page.choose("kind", "smiles")
    page.choose("slot", "right")
    page.page.fill("#text", "Oc1ccccc1")
    page.page.click("#typed button")
    expect(page.caption(1)).to_contain_text("Oc1ccccc1: 7 vertices")
    assert page.rows(1)[0]["name"] == "O"
    expect(page.caption(0)).to_contain_text("pasted graph6")


def test_open_a_file_of_many_graphs(screen, tmp_path):
    page = screen().open()
    file = tmp_path / "two.g6"
    file.write_text("Bw\nDqK\n", encoding="ascii")
    page.page.click("#own summary")
    page.page.set_input_files("#file", file)
    expect(page.caption()).to_contain_text("two.g6, graph 0: 3 vertices, 3 within")
    page.page.fill("#index", "1")
    page.page.press("#index", "Enter")
    expect(page.caption()).to_contain_text("two.g6, graph 1: 5 vertices")


def test_schemes_and_views(screen):
    club = nx.karate_club_graph()
    core = nx.core_number(club)
    page = screen().open()
    page.page.select_option("#gallery", "karate")
    expect(page.caption()).to_contain_text("karate club: 34 vertices")
    page.page.select_option("#scheme", "core")
    expect(page.page.locator("#definition")).to_contain_text("core number")
    assert [row["part"] for row in page.rows()] == [str(core[v]) for v in club]
    border = {v for v in club if any(core[u] != core[v] for u in club[v])}
    page.page.select_option("#view", "boundary")
    assert [int(row["vertex"]) for row in page.rows()] == sorted(border)
    page.page.select_option("#view", label="only part 4")
    shell = [v for v in club if core[v] == 4]
    assert [int(row["vertex"]) for row in page.rows()] == shell
    inside = club.subgraph(shell).number_of_edges()
    expect(page.caption()).to_contain_text(f"{inside} within edges, 0 cross edges")


def test_step_to_the_round_that_distinguishes(screen):
    page = screen().open()
    page.choose("paint", "rounds")
    expect(page.caption()).to_contain_text("coloured by GPNN, all pairs, round 0")
    assert {row["colour"].split()[0] for row in page.rows()} == {"1", "2"}
    for _ in range(3):
        page.page.click("#next")
    expect(page.page.locator("#where")).to_have_text("round 3 of 3")
    expect(page.page.locator("#verdict.told")).to_contain_text("round 3 is the first")
    left, right = ({row["colour"] for row in page.rows(g)} for g in (0, 1))
    assert not left & right and all(colour.endswith("differs") for colour in left | right)
    assert page.page.locator(".sheet.told").count() == 2
    page.page.click("#first")
    expect(page.page.locator(".sheet.told")).to_have_count(0)
    page.page.click("#play")
    expect(page.page.locator("#where")).to_have_text("round 3 of 3", timeout=10_000)
    expect(page.page.locator("#play")).to_have_text("Play")


@pytest.mark.parametrize("entry", ["rings", "karate"])
def test_choices_faster_than_answers(screen, entry):
    page = screen().open()
    page.page.select_option("#gallery", entry)
    expect(page.caption()).not_to_contain_text("decalin")
    page.settle()
    page.page.evaluate(
        """() => {
            for (const [id, value] of [["d", "2"], ["scheme", "degree"], ["method", "1-wl"]]) {
                const select = document.getElementById(id);
                select.value = value;
                select.dispatchEvent(new Event("change"));
            }
        }"""
    )
    expect(page.caption()).to_contain_text("coloured by 1-WL, round 0")
    page.settle()
    expect(page.page.locator("#definition")).to_have_text("the degree of the vertex")
    assert page.page.locator("#status.bad").count() == 0
    assert page.page.input_value("#d") == "2"


def test_compare_methods_in_a_table(screen):
    page = screen().open()
    page.page.select_option("#gallery", "rings")
    lines = page.page.locator("#verdicts tbody tr")
    expect(page.caption()).to_contain_text("C6")
    page.settle()
    table = [re.split(r"\s*\t\s*", text)[:3] for text in lines.all_inner_texts()]
    assert [row[1:] for row in table] == [
        ["no", ""], ["no", ""], ["yes", "1"], ["yes", "1"], ["yes", "1"],
        ["yes", "not isomorphic"],
    ]  # fmt: skip
    lines.nth(2).get_by_role("button").click()
    expect(page.caption(1)).to_contain_text("coloured by GPNN, all edges, round 1")
    page.page.select_option("#gallery", "shrikhande")
    expect(lines.nth(4)).to_contain_text("no")
    page.page.select_option("#scheme", "ego-1")
    expect(lines.nth(1)).to_contain_text("yes")


def test_a_link_carries_the_whole_state(screen):
    page = screen().open()
    page.page.select_option("#gallery", "figure-a")
    expect(page.caption()).to_contain_text("G1")
    page.page.select_option("#scheme", "degree")
    page.page.select_option("#method", "1-wl")
    page.page.click("#next")
    expect(page.caption()).to_contain_text("coloured by 1-WL, round 1")
    page.page.click("#share")
    expect(page.page.locator("#status")).to_contain_text("carries the graphs and every choice")
    link = page.page.url
    other = screen().open("#" + link.partition("#")[2])
    expect(other.caption()).to_have_text(page.caption().inner_text())
    assert [other.rows(g) for g in (0, 1)] == [page.rows(g) for g in (0, 1)]
    assert other.page.input_value("#scheme") == "degree"
    broken = screen().open("#s=AAAA")
    expect(broken.page.locator("#status.bad")).to_contain_text("The link is damaged")


def test_on_a_phone(screen):
    page = screen(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True).open()
    page.page.select_option("#gallery", "mutag-2")
    expect(page.caption()).to_contain_text("MUTAG:2: 13 vertices")
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 390
    for box in page.page.locator("button:visible, select:visible, .canvas").all():
        place = box.bounding_box()
        assert place is not None and place["x"] >= 0 and place["x"] + place["width"] <= 390
    page.page.tap("#next")
    expect(page.caption()).to_contain_text("round 1")
    x, y = page.at(0)
    page.page.locator(".canvas").scroll_into_view_if_needed()
    x, y = page.at(0)
    page.page.touchscreen.tap(x, y)
    expect(page.page.locator("#inspect")).to_contain_text("Vertex 0 (C)")


def test_dark_and_light(screen):
    page = screen(color_scheme="dark").open()
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.page.evaluate(ground)
    expect(page.page.locator("#theme")).to_have_attribute("aria-pressed", "true")
    page.page.click("#theme")
    assert page.page.evaluate(ground) != dark
    assert page.page.evaluate("document.documentElement.dataset.theme") == "light"
    light = screen(color_scheme="light").open()
    assert light.page.evaluate(ground) == page.page.evaluate(ground)


def test_keyboard_alone(screen):
    page = screen().open()
    page.page.focus("#blank")
    page.page.keyboard.press("Enter")
    page.page.locator(".canvas").first.focus()
    for key in ("n", "n", "n", "ArrowLeft"):
        page.page.keyboard.press(key)
    expect(page.page.locator("#status")).to_contain_text("Vertex")
    expect(page.caption()).to_contain_text("drawing: 3 vertices")
    page.page.keyboard.press("e")
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("e")
    expect(page.caption()).to_contain_text("1 within edges")
    page.page.keyboard.press("Delete")
    expect(page.caption()).to_contain_text("drawing: 2 vertices, 0 within")
    page.page.locator("#round").focus()
    assert page.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Round"
    unnamed = page.page.evaluate(
        """[...document.querySelectorAll("button, select, input, textarea")].filter((c) =>
            !c.labels?.length && !c.textContent.trim() && !c.ariaLabel).map((c) => c.id)"""
    )
    assert unnamed == []


def test_pointing_says_why(screen):
    page = screen().open()
    page.page.mouse.move(*page.at(0))
    expect(page.page.locator("#inspect")).to_have_text(
        "Vertex 0 in part 2, degree > 2: core number 2, degree inside the 2-core 3. "
        "Border vertex, 2 cross edges."
    )
    (a, b), (c, d) = page.at(0), page.at(1)
    page.page.mouse.move((a + c) / 2, (b + d) / 2)
    expect(page.page.locator("#inspect")).to_have_text(
        "Edge 0 – 1, cross: its ends lie in part 2, degree > 2 and part 2, degree = 2."
    )


def test_pointing_before_the_answer_says_why_once_it_is_there(screen):
    page, held = screen(), []
    page.page.route("**/api/analyse", lambda route: held.append(route))
    page.open()
    page.page.mouse.move(*page.at(0))
    expect(page.page.locator("#inspect")).to_have_text("Vertex 0.")
    for route in held:
        route.continue_()
    expect(page.page.locator("#inspect")).to_contain_text("Vertex 0 in part 2, degree > 2")


def test_mistakes_are_told_and_mended(screen):
    page = screen(allowed=REFUSED).open()
    page.page.click("#own summary")
    page.page.fill("#text", "0 1\n2,,3")
    page.page.click("#typed button")
    expect(page.page.locator("#status.bad")).to_contain_text("line 2: an empty field")
    expect(page.caption()).to_contain_text("decalin")
    page.page.fill("#text", "0 1\n1 2")
    page.page.click("#typed button")
    expect(page.page.locator("#status:not(.bad)")).to_contain_text("Read pasted edges")
    expect(page.caption()).to_contain_text("3 vertices")


@pytest.mark.usefixtures("one_thread")
def test_a_model_and_its_parts(screen, serve, tmp_path):
    from gpnn.data.samples import load_samples
    from gpnn.explore.predict import Predictor
    from gpnn.train.fit import fit
    from gpnn.train.train_config import TrainConfig

    fit(load_samples("MUTAG"), {"layers": 1, "hidden": 8},
        TrainConfig(epochs=1, device="cpu"), folder=tmp_path / "toy")  # fmt: skip
    server = serve(predictor=Predictor(tmp_path / "toy"))
    page = screen(server.url, allowed=REFUSED).open()
    expect(page.page.locator("#about")).to_contain_text("toy: classification")
    expect(page.page.locator("#answers")).to_contain_text("The model reads graphs with integer")
    page.page.select_option("#gallery", "mutag-5")
    expect(page.page.locator("#answers h3")).to_have_text("MUTAG:5")
    assert page.page.locator("#answers tbody tr").count() == 3
    expect(page.page.locator("#answers")).to_contain_text("without parts")
