"""The tree of a template, in which only groups have children, from outlines with parents.

A person who outlines an upper arm and a forearm makes the upper arm the parent of the forearm. In a template
both are leaves of one group, which has the joint of the upper arm. Therefore an outline with both pixels and
children is split in two: a group `<name>_group` with its joint and its reading, and the leaf `<name>`, which
is static in that group.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wherein.errors import TemplateError, require
from wherein.formats.part_outline import Outline


def part_tree(outlines: Sequence[Outline], name: str) -> dict[str, Outline]:
    """The outlines by name, as a tree with one root in which only groups have children.

    Arguments:
        outlines: parts and groups, in any order.
        name: the name of the object, and of the root if one has to be added.

    Raises:
        TemplateError: a name is missing or used twice, a parent does not exist or is its own ancestor, or a
            group is empty; the message names the part.
    """
    tree = _by_name(outlines)
    _check_parents(tree)
    # A list of names, because splitting changes the tree. Groups may have children as they are.
    for part in [outline.name for outline in outlines if not outline.group]:
        if _children(tree, part):
            _split(tree, tree[part], name)
    roots = [part for part in tree.values() if part.parent is None]
    if len(roots) > 1:
        root = _unused(tree, name, f"{name}_group")
        # A template has one root: parts without a parent are put into a new one.
        tree |= {part.name: replace(part, parent=root) for part in roots}
        tree[root] = Outline(root)
    return tree


def depths(outlines: Sequence[Outline]) -> dict[str, int]:
    """The number of ancestors of each outline. Call `part_tree` first: it refuses cycles."""
    parents = {outline.name: outline.parent for outline in outlines}

    def depth(name: str) -> int:
        parent = parents[name]
        return 0 if parent is None else 1 + depth(parent)

    return {name: depth(name) for name in parents}


def _by_name(outlines: Sequence[Outline]) -> dict[str, Outline]:
    several = isinstance(outlines, Sequence) and all(isinstance(one, Outline) for one in outlines)
    require(several, "outlines must be a list of wherein.making.Outline")
    if not outlines:
        raise TemplateError("there are no outlines: at least one is needed")
    tree: dict[str, Outline] = {}
    for outline in outlines:
        if not outline.name.strip():
            raise TemplateError("an outline has no name: give each part a name")
        if outline.name in tree:
            raise TemplateError(f'two outlines are called "{outline.name}": give each part its own name')
        tree[outline.name] = outline
    return tree


def _check_parents(tree: Mapping[str, Outline]) -> None:
    for outline in tree.values():
        if outline.parent is not None and outline.parent not in tree:
            raise TemplateError(
                f'the parent of the part "{outline.name}" is "{outline.parent}", which does not exist: '
                f"the parts are {', '.join(sorted(tree))}"
            )
        # Follow the parents upwards: a name that occurs twice closes a cycle.
        parent, passed = outline.parent, [outline.name]
        while parent is not None:
            if parent in passed:
                raise TemplateError(f"the parents of {', '.join(passed)} form a cycle")
            passed.append(parent)
            parent = tree[parent].parent
        if outline.group and not _children(tree, outline.name):
            raise TemplateError(
                f'the part "{outline.name}" has neither an outline nor children: '
                "make it the parent of a part, give it an outline, or remove it"
            )


def _children(tree: Mapping[str, Outline], name: str) -> list[str]:
    return [other.name for other in tree.values() if other.parent == name]


def _split(tree: dict[str, Outline], outline: Outline, name: str) -> None:
    """Replace an outline with children by a group that contains both the outline and its children."""
    # The group of a single root is the object itself, and gets the name of the object.
    only_root = outline.parent is None and sum(other.parent is None for other in tree.values()) == 1
    own = f"{outline.name}_group"
    group = _unused(tree, name if only_root else own, own)
    for child in _children(tree, outline.name):
        tree[child] = replace(tree[child], parent=group)
    tree[group] = replace(outline, name=group, polygon=None, mask=None, static=outline.fixed)
    tree[outline.name] = replace(outline, parent=group, pivot=None, static=True, reading=None)


def _unused(tree: Mapping[str, Outline], first: str, second: str) -> str:
    """The first name, or the second if a part has the first already."""
    for name in (first, second):
        if name not in tree:
            return name
    raise TemplateError(f'the name "{second}" is needed for a group: rename the part of that name')
