"""Names of the files that `wherein detect` writes for each scene."""

from wherein.cli.output_files import _free


class Counted(dict[str, int]):
    """A dictionary that counts how often it is asked for a key."""

    asked = 0

    def __contains__(self, key: object) -> bool:
        self.asked += 1
        return super().__contains__(key)


def test_names_are_numbered_and_none_is_taken_twice() -> None:
    taken = dict[str, int]()
    stems = ["a", "a-2", "a", "A", "a-2", "b", "a"]
    assert [_free(stem, taken) for stem in stems] == ["a", "a-2", "a-3", "A-4", "a-2-2", "b", "a-5"]


def test_many_scenes_of_one_name_take_no_longer_each() -> None:
    """As in data sets with a folder for each scene."""
    taken = Counted()
    assert len({_free("image", taken) for _ in range(500)}) == 500
    assert taken.asked <= 1000
