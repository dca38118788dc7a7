"""The space-time viewer: a trace as one page that needs nothing but a browser.

Python reads the trace, asks the auditor and packs columns; everything that a person then does with
the picture happens in the page (`page/`), which is drawn by hand on a canvas.
"""

from antecede.view.page import write_view
from antecede.view.shiviz import write_shiviz

__all__ = ["write_shiviz", "write_view"]
