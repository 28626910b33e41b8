"""Folders whose native code may be run: the user's own."""

import os
import stat

import pytest
from pyiree.runtime import private_folder
from pyiree.runtime.private_folder import refusal

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="folders are private there")


@pytest.fixture
def folder(tmp_path):
    """A folder of the user's in two others."""
    private_folder.make(tmp_path / "outer" / "middle" / "own")
    return tmp_path / "outer" / "middle" / "own"


def test_what_is_made_is_taken(folder):
    before = os.umask(0)
    try:
        private_folder.make(folder / "a" / "b")
    finally:
        os.umask(before)
    assert [stat.S_IMODE(place.stat().st_mode) for place in (folder / "a", folder / "a" / "b")] == [0o700, 0o700]
    assert refusal(folder / "a" / "b") is None and refusal(folder / "none yet") is None


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o702])
def test_one_that_others_can_write(folder, mode):
    folder.chmod(mode)
    assert refusal(folder) == f"{folder} can be written by other users (chmod 700 makes it yours alone)"
    assert refusal(folder.parent, folder) == refusal(folder)


@pytest.mark.skipif(getattr(os, "geteuid", int)() != 0, reason="only root can give files away")
class TestOthersFiles:
    def test_of_another_user(self, folder):
        os.chown(folder, 12345, -1)
        assert refusal(folder) == f"{folder} belongs to another user (uid 12345)"

    def test_of_another_group(self, folder):
        """The user's own group may write: where that is usual, the group has no other member."""
        folder.chmod(0o770)
        assert refusal(folder) is None
        os.chown(folder, -1, 12345)
        assert refusal(folder).startswith(f"{folder} can be")

    def test_links(self, folder, tmp_path):
        """What a link leads to counts, and whose it is, as its owner can lead it elsewhere."""
        link = tmp_path / "link"
        link.symlink_to(folder)
        assert refusal(link) is None
        os.lchown(link, 12345, -1)
        assert refusal(link) == f"{link} belongs to another user (uid 12345)"
        os.lchown(link, os.geteuid(), -1)
        os.chown(folder, 12345, -1)
        assert refusal(link) == f"{link} belongs to another user (uid 12345)"
