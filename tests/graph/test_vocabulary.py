"""Indices of known colours, and what happens to unseen ones."""

from __future__ import annotations

import json
import warnings

import networkx as nx
import numpy as np
import pytest
from hypothesis import given

from gpnn.errors import InputError
from gpnn.graph.partition import partition
from gpnn.graph.vocabulary import UnseenColours, Vocabulary
from strategies import graph_sets, to_graphs


@given(graph_sets())
def test_what_it_was_fitted_on_is_known(graphs):
    cut = partition(graphs, "core-onion")
    vocabulary = Vocabulary.fit(cut)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encoded = vocabulary.encode(cut)
    assert np.array_equal(encoded.index, cut.part)
    assert (encoded.unseen_vertices, encoded.unseen_pairs) == (0, 0)


def test_an_unseen_colour_goes_to_the_reserved_part_with_one_warning():
    fitted = Vocabulary.fit(partition(to_graphs(nx.cycle_graph(4)), "degree"))
    star = partition(to_graphs(nx.path_graph(4)), "degree")
    with pytest.warns(UnseenColours, match="2 of 4 vertices .* 0 directed edges") as caught:
        encoded = fitted.encode(star)
    assert len(caught) == 1
    assert encoded.index.tolist() == [1, 0, 0, 1]
    assert fitted.size == 1 and fitted.labels == ["2", "unseen"]


def test_different_unseen_colours_stay_two_parts():
    fitted = Vocabulary.fit(partition(to_graphs(nx.cycle_graph(4)), "degree"))
    star = partition(to_graphs(nx.star_graph(3)), "degree")
    with pytest.warns(UnseenColours):
        encoded = fitted.encode(star)
    assert encoded.index.tolist() == [1, 1, 1, 1]
    assert star.cross.all()


def test_known_colours_in_an_unseen_pair_are_counted():
    apart = nx.disjoint_union(nx.cycle_graph(3), nx.path_graph(2))
    fitted = Vocabulary.fit(partition(to_graphs(apart), "core"))
    with pytest.warns(UnseenColours, match="0 of 4 vertices .* 2 directed edges"):
        encoded = fitted.encode(partition(to_graphs(nx.lollipop_graph(3, 1)), "core"))
    assert encoded.unseen_pairs == 2


def test_json_round_trip():
    vocabulary = Vocabulary.fit(partition(to_graphs(nx.karate_club_graph()), "core+wl-2"))
    again = Vocabulary.from_dict(json.loads(json.dumps(vocabulary.to_dict())))
    assert again.scheme == vocabulary.scheme
    assert np.array_equal(again.colours, vocabulary.colours)
    assert np.array_equal(again.pairs, vocabulary.pairs)


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"scheme": "core", "colours": [["x"]], "pairs": []},
        {"scheme": "core", "colours": 3, "pairs": []},
    ],
)
def test_foreign_content_is_refused(content):
    with pytest.raises(InputError, match="Not a vocabulary"):
        Vocabulary.from_dict(content)


def test_another_scheme_is_refused():
    graph = to_graphs(nx.path_graph(3))
    fitted = Vocabulary.fit(partition(graph, "core"))
    with pytest.raises(InputError, match=r"for scheme 'core'; .* 'degree'"):
        fitted.encode(partition(graph, "degree"))
