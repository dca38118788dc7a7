"""Logs of other systems, turned into traces.

An importer reads a file and gives the runs in it, as the rows of a trace without positions; the
rest is the same for all: the rules of the format are checked, an order is computed, and a trace is
written, a file for one run or a folder of files for several. What a log cannot show, the importer
has to assume: it says so, and the footer of the trace carries it to every verdict.
"""

from antecede.imports.graph import import_graph
from antecede.imports.imported import Imported, write_imported
from antecede.imports.shiviz import import_shiviz
from antecede.imports.tabular import import_csv, import_json_lines

__all__ = [
    "Imported",
    "import_csv",
    "import_graph",
    "import_json_lines",
    "import_shiviz",
    "write_imported",
]
