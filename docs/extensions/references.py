"""Reference pages for Sphinx: which pages there are, their docstrings, and links from names in texts.

Code in texts that is a public name becomes a link to its description, in pages as in docstrings. A link of which the
target is missing is a warning, and so an error of a build with -W.
"""

from __future__ import annotations

import builtins
import contextlib
import inspect
import re
from pathlib import Path
from typing import Any

from api_pages import write_pages
from docstrings import to_rst
from docutils import nodes
from numpy.typing import ArrayLike
from public_names import public_names
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.util.inspect import stringify_signature
from sphinx.util.typing import stringify_annotation

_NO_LINKS_IN = (nodes.reference, addnodes.pending_xref, addnodes.desc_signature, nodes.title)
_LIBRARIES = {
    "collections.abc": "https://docs.python.org/3/library/collections.abc.html",
    "typing": "https://docs.python.org/3/library/typing.html",
    "pathlib": "https://docs.python.org/3/library/pathlib.html",
    "numpy": "https://numpy.org/doc/stable/reference/index.html",
    "yaml": "https://pyyaml.org/wiki/PyYAMLDocumentation",
    "numba": "https://numba.readthedocs.io/en/stable/reference/index.html",
}

_ARRAY_LIKE = stringify_annotation(ArrayLike, "smart")  # the types of which it is made
_ARRAY = re.compile(r"(~?numpy\.ndarray)\[tuple\[[^\[\]]*\], ~?numpy\.dtype\[[^\[\]]*\]\]")


_ANY_ARGUMENTS = re.compile(r"\(\*args: (?:~?typing\.)?Any, \*\*kwargs: (?:~?typing\.)?Any\)(?: -> .*)?")


class LinkPublicNames(SphinxTransform):
    """Makes links of `code` that is a public name."""

    default_priority = 500

    def apply(self, **kwargs: Any) -> None:
        """Looks at all code of a page."""
        names = public_names()
        for given in self.document.findall(addnodes.pending_xref):
            given.attributes.pop("refspecific", None)  # types have their whole names; to look for ends takes a minute
        for literal in list(self.document.findall(nodes.literal)):
            if any(isinstance(parent, _NO_LINKS_IN) for parent in _parents(literal)):
                continue
            target = names.meaning(literal.astext(), _scope(literal))
            if target is None:
                continue
            if target in names.packages:
                attributes = {"refdomain": "std", "reftype": "doc", "reftarget": f"/api/{target}"}
            else:
                attributes = {"refdomain": "py", "reftype": "obj", "reftarget": target}
            link = addnodes.pending_xref("", refexplicit=True, refwarn=True, refdoc=self.env.docname, **attributes)
            literal.replace_self(link)
            link += literal


def _parents(node: nodes.Node) -> Any:
    while node.parent is not None:
        node = node.parent
        yield node


def _scope(node: nodes.Node) -> str | None:
    """Of which class or function the description is that a node is part of."""
    for parent in _parents(node):
        if isinstance(parent, addnodes.desc) and parent["domain"] == "py":
            signature = parent.next_node(addnodes.desc_signature)
            if signature and parent["objtype"] in ("class", "exception", "function", "data"):
                return f"{signature['module']}.{signature['fullname']}"
    return None


def find_reference(app: Sphinx, env: Any, node: addnodes.pending_xref, content: nodes.Node) -> nodes.Node | None:
    """Resolves a reference that Sphinx did not find: another name of ours, or one of a library."""
    if node["refdomain"] != "py":
        return None
    target = node["reftarget"]
    names = public_names()
    home = names.meaning(target)
    if home:
        found = env.domains["py"].resolve_xref(env, node["refdoc"], app.builder, "obj", home, node, content)
        if found is not None:
            return found
    if hasattr(builtins, target):
        kind = getattr(builtins, target)
        page = "exceptions" if isinstance(kind, type) and issubclass(kind, BaseException) else "functions"
        return _link(content, f"https://docs.python.org/3/library/{page}.html#{target}")
    for library, address in _LIBRARIES.items():
        if target.startswith(f"{library}."):
            return _link(content, f"{address}#{target}" if "docs.python" in address else address)
    in_signature = any(isinstance(parent, addnodes.desc_signature) for parent in _parents(node))
    return content if in_signature else None  # the types of what is inside are shown, and not described


def _link(content: nodes.Node, address: str) -> nodes.Node:
    return nodes.reference("", "", content, internal=False, refuri=address)


def rewrite_docstring(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Makes reStructuredText of a docstring."""
    lines[:] = to_rst("\n".join(lines))


def name_arrays(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, result: str | None
) -> tuple[str | None, str | None]:
    """Calls arrays in signatures by their names; docstrings say their shapes.

    A class that takes any arguments in `__new__` has the signature of its constructor, which `inspect` knows.
    """
    if what in ("class", "exception") and signature and _ANY_ARGUMENTS.fullmatch(signature):
        with contextlib.suppress(ValueError, TypeError):
            constructor = inspect.signature(thing).replace(return_annotation=inspect.Signature.empty)
            signature = stringify_signature(constructor, unqualified_typehints=True)
    return _with_names(signature), _with_names(result)


def _with_names(text: str | None) -> str | None:
    return text and _ARRAY.sub(r"\1", text.replace(_ARRAY_LIKE, "~numpy.typing.ArrayLike"))


def public_bases(app: Sphinx, name: str, cls: type, options: Any, bases: list[Any]) -> None:
    """Leaves of the bases of a class those that are described."""
    bases[:] = public_names().bases(cls) or [object]


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the extension with Sphinx."""
    app.add_transform(LinkPublicNames)
    app.connect("builder-inited", lambda app: write_pages(Path(app.srcdir) / "api"), priority=100)
    app.connect("missing-reference", find_reference)
    app.connect("autodoc-process-docstring", rewrite_docstring, priority=100)
    app.connect("autodoc-process-signature", name_arrays)
    app.connect("autodoc-process-bases", public_bases)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
