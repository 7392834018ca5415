"""Additional structures that other methods use: rings, subgraphs, k-hop shells …"""
