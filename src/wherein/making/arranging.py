"""From outlines that hang on one another to the tree of a template, in which only groups have children.

A person who draws an upper arm and a forearm says that the one hangs on the other. In a template both are
leaves of a group that has the upper arm's joint. So an outline that has both a picture and parts hanging on
it becomes two: a group `<name>_group` with its joint, and in it, static, the leaf `<name>`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wherein.errors import TemplateError
from wherein.formats.part_outline import Outline


def arranged(outlines: Sequence[Outline], name: str) -> dict[str, Outline]:
    """The outlines as a tree with one root, by name.

    Arguments:
        outlines: parts and groups, in any order.
        name: of the object: its root is called so where one has to be made.

    Raises:
        TemplateError: a name comes twice or is empty, a parent does not exist or is its own ancestor, a
            group is empty; the message names the part.
    """
    tree = _by_name(outlines)
    _check_parents(tree)
    for part in [outline.name for outline in outlines if not outline.group]:
        if _children(tree, part):
            _split(tree, tree[part], name)
    roots = [part for part in tree.values() if part.parent is None]
    if len(roots) > 1:
        root = _free(tree, name, f"{name}_group")
        tree |= {part.name: replace(part, parent=root) for part in roots}
        tree[root] = Outline(root)
    return tree


def heights(outlines: Sequence[Outline]) -> dict[str, int]:
    """How many others each of them hangs on, one after the other; they are as `arranged` takes them."""
    above = {outline.name: outline.parent for outline in outlines}

    def height(name: str) -> int:
        parent = above[name]
        return 0 if parent is None else 1 + height(parent)

    return {name: height(name) for name in above}


def _by_name(outlines: Sequence[Outline]) -> dict[str, Outline]:
    if not outlines:
        raise TemplateError("there is nothing to cut out: give at least one outline")
    tree: dict[str, Outline] = {}
    for outline in outlines:
        if not outline.name.strip():
            raise TemplateError("an outline has no name: give each part one")
        if outline.name in tree:
            raise TemplateError(f'two outlines are called "{outline.name}": give each part its own name')
        tree[outline.name] = outline
    return tree


def _check_parents(tree: Mapping[str, Outline]) -> None:
    for outline in tree.values():
        if outline.parent is not None and outline.parent not in tree:
            raise TemplateError(
                f'the part "{outline.name}" hangs on "{outline.parent}", which does not exist; '
                f"there are {', '.join(sorted(tree))}"
            )
        above, passed = outline.parent, [outline.name]
        while above is not None:
            if above in passed:
                raise TemplateError(f"the parents of {', '.join(passed)} go round in a circle")
            passed.append(above)
            above = tree[above].parent
        if outline.group and not _children(tree, outline.name):
            raise TemplateError(
                f'the part "{outline.name}" has no outline and nothing hangs on it: '
                "hang a part on it, give it an outline, or remove it"
            )


def _children(tree: Mapping[str, Outline], name: str) -> list[str]:
    return [other.name for other in tree.values() if other.parent == name]


def _split(tree: dict[str, Outline], outline: Outline, name: str) -> None:
    """An outline with children: a group in its place, and in the group itself and they."""
    alone = sum(other.parent is None for other in tree.values()) == 1
    first = name if alone and outline.parent is None else f"{outline.name}_group"
    group = _free(tree, first, f"{outline.name}_group")
    for child in _children(tree, outline.name):
        tree[child] = replace(tree[child], parent=group)
    tree[group] = Outline(group, None, outline.parent, outline.pivot, outline.turn, outline.fixed)
    tree[outline.name] = replace(outline, parent=group, pivot=None, static=True)


def _free(tree: Mapping[str, Outline], first: str, second: str) -> str:
    """The first name, or the second where a part has that."""
    for name in (first, second):
        if name not in tree:
            return name
    raise TemplateError(f'a group needs the name "{second}", which a part has: call that part otherwise')
