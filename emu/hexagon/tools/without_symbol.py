#!/usr/bin/env python3
"""Copies a shared library without one of its exported names: without_symbol.py LIBRARY COPY NAME

The name's first letter is changed in the dynamic string table, so that a lookup by the old name finds nothing. For tests
of what a host program does when a vendor's library lacks a call.
"""
import sys


def without_symbol(data, name):
    needle = b"\0" + name.encode() + b"\0"
    at = data.find(needle)  # .dynstr is loaded and stands before .strtab
    if at < 0:
        raise SystemExit(f"no exported name {name}")
    return data[: at + 1] + b"_" + data[at + 2 :]


def main():
    if len(sys.argv) != 4:
        raise SystemExit(__doc__)
    library, copy, name = sys.argv[1:]
    with open(library, "rb") as file:
        data = file.read()
    with open(copy, "wb") as file:
        file.write(without_symbol(data, name))


if __name__ == "__main__":
    main()
