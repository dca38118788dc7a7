"""What a person looks at: a campaign as one HTML page, and its figures as SVG files."""

from antecede.report.write import write_figures, write_report

__all__ = ["write_figures", "write_report"]
