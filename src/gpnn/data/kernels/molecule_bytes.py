"""Atoms and bonds from RDKit's binary serialisation of molecules.

The layout of version 16.4 (``MolPickler``) is: a header of five 32-bit integers, the numbers of
atoms and bonds and two bytes; per atom its element, flags, and a bit set of the further numbers
that follow; a marker; per bond its ends, flags and the fields that they announce; a marker; the
rings. Molecules with unexpected content are left to the caller.
"""

from __future__ import annotations

import numpy as np

from ...graph.kernels._jit import jit

__all__ = ["read_molecules"]

_BONDS, _RINGS = 0x0B, 0x42
_HYBRIDS = np.array([5, 5, 0, 1, 2, 5, 3, 4, 5], np.int64)
"""Codes of RDKit's hybridisations: unspecified, s, sp, sp², sp³, sp²d, sp³d, sp³d², other."""
_STEREO = np.array([0, 5, 1, 2, 3, 4], np.int64)
"""Codes of RDKit's bond stereo: none, any, Z, E, cis, trans."""


@jit
def read_molecules(data, starts, atom_ptr, bond_ptr, atoms, bonds, read):
    """Fill the rows of atoms [n, 12] and bonds [m, 6] of every molecule in the expected layout, and
    mark it in ``read``; the stereo centre of atoms stays 0."""
    for k in range(len(read)):
        read[k] = _molecule(
            data[starts[k] : starts[k + 1]],
            atoms[atom_ptr[k] : atom_ptr[k + 1]],
            bonds[bond_ptr[k] : bond_ptr[k + 1]],
        )


@jit
def _molecule(data, atoms, bonds):
    size = len(data)
    if len(atoms) > 255 or size < 31 + 6 * len(atoms) + 3 * len(bonds):
        return False
    at = 30
    for v in range(len(atoms)):
        if at + 18 > size:
            return False
        element, flags = np.int64(data[at]), data[at + 1]
        bits = np.int64(data[at + 2]) | (np.int64(data[at + 3]) << 8)
        if flags & 0x9F or bits & 0xFE01 or data[at + 4] or data[at + 5]:
            return False
        at += 6
        charge, chirality, hybrid, hydrogens, radicals, isotope = 0, 0, 4, 0, 0, 0
        if bits & 2:
            charge = np.int64(data[at])
            charge = charge - 256 if charge > 127 else charge
            at += 1
        if bits & 4:
            chirality = np.int64(data[at])
            at += 1
        if bits & 8:
            hybrid = np.int64(data[at])
            at += 1
        if bits & 16:
            hydrogens = np.int64(data[at])
            at += 1
        if bits & 32:
            at += 1
        if bits & 64:
            implicit = np.int64(data[at])
            if implicit > 127:
                return False
            hydrogens += implicit
            at += 1
        if bits & 128:
            radicals = np.int64(data[at])
            at += 1
        if bits & 256:
            isotope = 1
            at += 4
        if hybrid > 8:
            return False
        row = atoms[v]
        row[0] = element - 1 if 1 <= element <= 118 else 118
        row[1] = min(chirality, 4)
        row[2] = hydrogens
        row[3] = charge + 5 if -5 <= charge <= 5 else 11
        row[4] = hydrogens if hydrogens <= 8 else 9
        row[5] = radicals if radicals <= 4 else 5
        row[6] = _HYBRIDS[hybrid]
        row[7] = 1 if flags & 0x40 else 0
        row[8:11] = 0
        row[11] = isotope
    if at >= size or data[at] != _BONDS:
        return False
    at += 1
    for e in range(len(bonds)):
        if at + 8 > size:
            return False
        a, b, flags = np.int64(data[at]), np.int64(data[at + 1]), data[at + 2]
        if flags & 0x91 or a >= len(atoms) or b >= len(atoms):
            return False
        at += 3
        kind, stereo = 1, 0
        if flags & 0x08:
            kind = np.int64(data[at])
            at += 1
        if flags & 0x04:
            at += 1
        if flags & 0x02:
            stereo = np.int64(data[at])
            at += 2 + np.int64(data[at + 1])
        row = bonds[e]
        row[0], row[1] = a, b
        row[2] = kind - 1 if 1 <= kind <= 3 else 3 if kind == 12 else 4
        row[3] = _STEREO[stereo] if stereo < 6 else 6
        row[4] = 1 if flags & 0x20 else 0
        row[5] = 0
        atoms[a, 2] += 1
        atoms[b, 2] += 1
    if at + 5 > size or data[at] != _RINGS or data[at + 2] or data[at + 3] or data[at + 4]:
        return False
    rings = np.int64(data[at + 1])
    at += 5
    for _ in range(rings):
        length = np.int64(data[at]) if at < size else 0
        if length < 3 or at + 1 + length > size:
            return False
        ring = data[at + 1 : at + 1 + length]
        for place in range(length):
            v, u = np.int64(ring[place]), np.int64(ring[place - 1])
            if v >= len(atoms):
                return False
            smallest = min(length, 12)
            if not atoms[v, 10] or smallest < atoms[v, 10]:
                atoms[v, 8], atoms[v, 10] = 1, smallest
            for e in range(len(bonds)):
                if (bonds[e, 0] == v and bonds[e, 1] == u) or (
                    bonds[e, 0] == u and bonds[e, 1] == v
                ):
                    bonds[e, 5] = 1
                    break
        at += 1 + length
    for v in range(len(atoms)):
        atoms[v, 2] = atoms[v, 2] if atoms[v, 2] <= 10 else 11
    return True
