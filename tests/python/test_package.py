"""The package itself: types, and what is in it."""

import pathlib
import subprocess
import sys

import lookalike

HERE = pathlib.Path(__file__).parent


def test_types_are_complete():
    package = pathlib.Path(lookalike.__file__).parent
    assert (package / "py.typed").exists()
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "--cache-dir=/dev/null", HERE / "typed.py"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
    subprocess.run([sys.executable, HERE / "typed.py"], check=True)


def test_stubs_are_those_of_the_extension():
    command = [sys.executable, "-m", "mypy.stubtest", "lookalike._lookalike", "--ignore-missing-stub", "--concise"]
    checked = subprocess.run(command, capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout


def test_every_public_name_is_documented():
    for name in lookalike.__all__:
        assert name == "__version__" or getattr(lookalike, name).__doc__, name
