"""What other methods read of a graph beside its vertices and edges: rings, subgraphs, shells …"""
