"""How the site is built: `sphinx-build -W -b html docs output/site`."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "extensions"))
os.environ.pop("MPLBACKEND", None)  # pages show their plots

import merganser

project = "merganser"
author = "the merganser authors"
copyright = "2026, the merganser authors"
version = release = merganser.__version__

extensions = ["sphinx.ext.autodoc", "sphinx.ext.mathjax", "myst_nb", "references", "readmes"]
exclude_patterns = ["extensions"]
nitpicky = True
default_role = "code"

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88
toc_object_entries_show_parents = "hide"

nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_merge_streams = True
nb_render_markdown_format = "myst"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

html_theme = "pydata_sphinx_theme"
html_title = "merganser"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {
    "collapse_navigation": True,
    "header_links_before_dropdown": 7,  # all of them
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
}
