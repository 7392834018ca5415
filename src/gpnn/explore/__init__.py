"""The explorer: a local web page that shows parts, interactions and rounds.

=================  ===========================================================================
module             content
=================  ===========================================================================
``analyse``        the pure function behind the page: from a request to parts and rounds
``request``        validation of requests
``rounds``         rounds of colours in one palette, and the verdict on two graphs
``why``            a sentence per vertex: why it is in its part
``parse``          from text of a user or a file to graphs
``graph_json``     a graph in the format of the page
``gallery``        graphs to start from
``positions``      positions of vertices
``predict``        the prediction of a trained model, with the share of every part
``api``            which function answers which path
``guard``          which requests are refused
``static``         the files of the page, in memory
``server``         HTTP on the standard library
``warm``           kernels loaded before the first request
``page/``          HTML, CSS, ES modules and the vendored cytoscape.js
=================  ===========================================================================
"""

from __future__ import annotations

from .analyse import analyse

__all__ = ["analyse"]
