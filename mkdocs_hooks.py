"""What the documentation site has besides its pages: the page on which one drops a log."""

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from antecede.view.drop import drop_page

DROP_PAGE = "audit.html"


def on_files(files: Files, /, *, config: MkDocsConfig) -> Files:
    """MkDocs asks before it builds."""
    files.append(File.generated(config, DROP_PAGE, content=drop_page()))
    return files
