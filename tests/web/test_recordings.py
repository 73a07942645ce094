"""Recordings in zip files and folders, and embeddings: what is taken, under which names, and what is refused."""

import io
import stat
import zipfile

import pytest

pytest.importorskip("jinja2")
pytest.importorskip("matplotlib")

from zeroevidence.errors import InputError
from zeroevidence.run import Run
from zeroevidence.web import MOST_FILES, audits
from zeroevidence.web.audits import audit_embeddings, place_recordings
from zeroevidence.web.request import JobRequest, Upload

LIMIT = 10_000
TREE = {"speech/ada/1.wav": b"a1", "speech/ada/2.wav": b"a2", "speech/bob/1.flac": b"b1"}


def zipped(tmp_path, files, method=zipfile.ZIP_DEFLATED, name="mine.zip"):
    path = tmp_path / "0.upload"
    with zipfile.ZipFile(path, "w", method) as archive:
        for file, content in files.items():
            archive.writestr(file, content)
    return (Upload(str(path), name),)


def sent(tmp_path, files):
    uploads = []
    for number, (name, content) in enumerate(files.items()):
        path = tmp_path / f"{number}.upload"
        path.write_bytes(content)
        uploads.append(Upload(str(path), name))
    return tuple(uploads)


def place(tmp_path, files, room=LIMIT):
    return place_recordings(files, tmp_path / "inside" / "0", room, LIMIT)


def content(folder):
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("make", [zipped, sent])
def test_folders_around_the_speakers_are_taken_away(tmp_path, make):
    files = {**TREE, "speech/speakers.tsv": b"t", "speech/.DS_Store": b"x", "__MACOSX/ada/._1.wav": b"y"}
    placed = place(tmp_path, make(tmp_path, files))
    assert placed.folder == tmp_path / "inside" / "0" / "speech"
    assert content(placed.folder) == {"ada/1.wav": b"a1", "ada/2.wav": b"a2", "bob/1.flac": b"b1", "speakers.tsv": b"t"}
    assert (placed.size, placed.left_out) == (7, 2)


def test_a_zip_file_without_a_folder_around_gives_its_own_name(tmp_path):
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr("bob/1.wav", b"1")
    files = {"ada/1.wav": b"1", "ada/2.wav": b"2", "README.txt": b"3", "more.zip": inner.getvalue()}
    placed = place(tmp_path, zipped(tmp_path, files))
    assert placed.folder.name == "mine"
    assert sorted(content(placed.folder)) == ["ada/1.wav", "ada/2.wav"]  # an archive in an archive is not opened
    assert placed.left_out == 2


@pytest.mark.parametrize(
    "name",
    [
        "../outside.wav",
        "ada/../../outside.wav",
        "/etc/outside.wav",
        "ada/./outside.wav",
        "..\\outside.wav",
        "C:\\outside.wav",
        "ada/\u202eoutside.wav",
        f"ada/{'x' * 300}.wav",
        f"{'a/' * 20}outside.wav",
    ],
)
@pytest.mark.parametrize("make", [zipped, sent])
def test_names_that_lead_elsewhere_are_refused(tmp_path, make, name):
    files = make(tmp_path, {"ada/1.wav": b"1", name: b"2"})
    before = set(tmp_path.rglob("*"))
    with pytest.raises(InputError, match="is not taken as the name of a file"):
        place(tmp_path, files)
    assert set(tmp_path.rglob("*")) == before  # nothing is written before every name is known
    assert not (tmp_path.parent / "outside.wav").exists()


@pytest.mark.parametrize(
    ("kind", "wanted"), [(stat.S_IFLNK, "is a link"), (stat.S_IFIFO, "is no ordinary file"), (stat.S_IFCHR, "is no")]
)
def test_links_and_devices_are_refused(tmp_path, kind, wanted):
    path = tmp_path / "0.upload"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ada/1.wav", b"1")
        item = zipfile.ZipInfo("ada/2.wav")
        item.external_attr = (kind | 0o777) << 16
        archive.writestr(item, b"/etc/passwd")
    with pytest.raises(InputError, match=wanted):
        place(tmp_path, (Upload(str(path), "x.zip"),))


def test_what_unpacks_to_too_much_is_refused_while_it_is_unpacked(tmp_path):
    files = zipped(tmp_path, {"ada/1.wav": b"\0" * 50_000_000})
    with pytest.raises(InputError, match=r"hold more than 0\.01 MB"):
        place(tmp_path, files)
    written = sum(file.stat().st_size for file in (tmp_path / "inside").rglob("*") if file.is_file())
    assert written <= LIMIT
    with pytest.raises(InputError, match="hold more than"):  # what other sides took is counted
        place_recordings(zipped(tmp_path, TREE), tmp_path / "other" / "1", 5, LIMIT)


def test_a_size_that_is_announced_too_small_is_refused(tmp_path):
    """The size in the directory of a zip file is only what it claims."""
    (upload,) = zipped(tmp_path, {"ada/1.wav": b"\0" * 100_000})
    path = tmp_path / "0.upload"
    data = path.read_bytes().replace((100_000).to_bytes(4, "little"), (5).to_bytes(4, "little"))
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"damaged|hold more than"):
        place(tmp_path, (upload,))


def test_too_many_files_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(audits, "MOST_FILES", 2)
    with pytest.raises(InputError, match="3 files; expected at most 2"):
        place(tmp_path, zipped(tmp_path, TREE))
    assert MOST_FILES > 1000


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda home: zipped(home, TREE, zipfile.ZIP_LZMA), "expected deflate"),
        # A list of files could name any file of this machine.
        (lambda home: zipped(home, {**TREE, "speech/wav.scp": b"u /etc/passwd"}), "a list of files, which may lie any"),
        (lambda home: zipped(home, {**TREE, "utterances.tsv": b"u"}), "a list of files, which may lie anywhere"),
        (lambda home: sent(home, {"voice.wav": b"RIFF"}), "is no zip file; expected one, or a folder"),
    ],
)
def test_other_kinds_of_files_are_refused(tmp_path, make, reason):
    with pytest.raises(InputError, match=reason):
        place(tmp_path, make(tmp_path))


def test_encrypted_files_are_refused(tmp_path):
    (upload,) = zipped(tmp_path, TREE)
    path = tmp_path / "0.upload"
    data = bytearray(path.read_bytes())
    for magic, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(magic) + at] |= 1
    path.write_bytes(bytes(data))
    with pytest.raises(InputError, match="is encrypted"):
        place(tmp_path, (upload,))


@pytest.mark.parametrize("cut", [4, 40, -10, None])
def test_damaged_zip_files_are_refused(tmp_path, cut):
    (upload,) = zipped(tmp_path, {"ada/1.wav": b"sound " * 100, "bob/1.wav": b"x"})
    path = tmp_path / "0.upload"
    data = bytearray(path.read_bytes())
    data[30 + len("ada/1.wav") + 3] ^= 0xFF  # in the content of the first file
    path.write_bytes(data[:cut])
    with pytest.raises(InputError, match="damaged"):
        place(tmp_path, (upload,))


def test_a_name_that_is_there_twice_is_refused(tmp_path):
    path = tmp_path / "0.upload"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("ada/1.wav", b"1")
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("ada/1.wav", b"2")
    with pytest.raises(InputError, match="is there twice"):
        place(tmp_path, (Upload(str(path), "x.zip"),))


def test_lists_of_archives_are_refused(tmp_path):
    """They could name any file of this machine."""
    (tmp_path / "0.upload").write_text("u1 /etc/passwd:0\n")
    file = (Upload(str(tmp_path / "0.upload"), "xvector.scp"),)
    request = JobRequest(kind="embeddings", original=file, anonymised=file)
    with pytest.raises(InputError, match="a list of archives, which may lie anywhere"):
        audit_embeddings(request, tmp_path, Run())
