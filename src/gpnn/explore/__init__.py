"""The explorer: a page on the loopback address where parts, interactions and rounds are seen.

=================  ===========================================================================
module             holds
=================  ===========================================================================
``analyse``        the one pure function behind the page: request in, parts and rounds out
``request``        what a request may say, checked
``rounds``         rounds of colours in one palette, and the verdict on two graphs
``why``            a sentence per vertex: why it lies in its part
``parse``          text of a person or a file, to graphs
``card``           a graph as the page keeps it
``gallery``        graphs to start from
``place``          where to put vertices
``predict``        a trained model's answer, with the share of every part
``api``            which function answers which path
``guard``          which requests are answered at all
``static``         the files of the page, in memory
``server``         HTTP on the standard library
``warm``           kernels loaded before the first request
``page/``          HTML, CSS, ES modules and the vendored cytoscape.js
=================  ===========================================================================
"""

from __future__ import annotations

from .analyse import analyse

__all__ = ["analyse"]
