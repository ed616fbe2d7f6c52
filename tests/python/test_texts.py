"""One text and two: the same answers as the program, and objects that behave."""

import copy
import json
import pickle
import subprocess
import sys

import lookalike
import pytest
from conftest import run, words

A = "A rose is a rose is a rose, and nothing else than a rose; so she says, and who am I to say otherwise?"
B = "They tell me: a rose is a rose is a rose, and nothing else than a rose; so they say, and that is it."
PAGE = f"<!doctype html><html><head><title>Rosen</title></head><body><p>{A}</p><p>M\u00f6wen &amp; {B}</p></body></html>"


@pytest.mark.parametrize("options", [{}, {"shingle": 3}, {"token": "char"}, {"samples": 8, "shingle": 2}, {"labelled": True}, {"sketch": "perm:9"}, {"seed": 5, "keep_case": True}])
def test_compare_tells_what_the_program_tells(tmp_path, options):
    arguments = []
    for name, value in options.items():
        arguments += ["--" + name.replace("_", "-")] + ([] if value is True else [str(value)])
    for a, b in [(A, B), (PAGE, A), (" ".join(words(1, 900)), " ".join(words(1, 700)))]:
        (tmp_path / "a").write_text(a)
        (tmp_path / "b").write_text(b)
        told = json.loads(run("compare", tmp_path / "a", tmp_path / "b", "--json", "--quiet", *arguments))
        assert lookalike.compare(a.encode(), b.encode(), **options) == told
        own = lookalike.compare(a, b, **options)
        if a.isascii() and b.isascii():
            assert own == told
        else:
            # Of a string, characters are told in place of bytes.
            for mine, its in zip(own["passages"], told["passages"], strict=True):
                assert a[slice(*mine["a"])].encode() == a.encode()[slice(*its["a"])]
        assert own["resemblance"] == told["resemblance"]


def test_passages_can_be_left_out():
    assert "passages" not in lookalike.compare(A, B, passages=False)


def test_a_sketch_is_the_program_s(tmp_path):
    (tmp_path / "a").write_text(A)
    run("sketch", tmp_path / "a", "-o", tmp_path / "a.sketch", "--shingle", "3", "--samples", "16", "--quiet")
    own = lookalike.sketch(A, shingle=3, samples=16)
    assert bytes(own) == (tmp_path / "a.sketch").read_bytes()
    assert lookalike.Sketch.from_bytes((tmp_path / "a.sketch").read_bytes()) == own


@pytest.mark.parametrize("kind", ["nested:16", "mod:3", "min:8", "min-mod:5,2", "perm:9,lead-byte"])
def test_sketches_pickle_copy_and_go_into_sets(kind):
    one, other = lookalike.sketch(A, shingle=2, sketch=kind), lookalike.sketch(B, shingle=2, sketch=kind)
    again = pickle.loads(pickle.dumps(one))
    assert again == one and hash(again) == hash(one) and copy.deepcopy(one) == one
    assert one != other and len({one, again, other}) == 2 and one != "something else"
    assert one.resemblance(other) == again.resemblance(other)
    assert len(one) == len(one.samples) and one.kind == kind


def test_a_pickle_is_read_by_another_process(tmp_path):
    (tmp_path / "p").write_bytes(pickle.dumps(lookalike.sketch(A)))
    code = f"import pickle; print(len(pickle.load(open({str(tmp_path / 'p')!r}, 'rb'))))"
    assert int(subprocess.check_output([sys.executable, "-c", code])) == len(lookalike.sketch(A))


def test_sketches_of_two_recipes_are_never_compared():
    one, other = lookalike.sketch(A), lookalike.sketch(A, shingle=9)
    with pytest.raises(lookalike.UsageError) as raised:
        one.resemblance(other)
    assert str(raised.value) == f"sketches of two recipes cannot be compared: {one.recipe_id} and {other.recipe_id}"
    assert isinstance(raised.value, ValueError)


def test_no_evidence_is_no_estimate():
    kept = lookalike.sketch("one two", sketch="mod:1000000007")
    assert len(kept) == 0 and kept.resemblance(kept) is None
    assert lookalike.sketch(A, sketch="min:9").containment(lookalike.sketch(B, sketch="min:9")) is None


def test_features_are_a_list():
    one = lookalike.sketch(["red", 7, "blue"], token="feature")
    other = lookalike.sketch(["blue", "red", "7", "green"], token="feature")
    assert one.resemblance(other)["value"] == 0.75
    assert lookalike.compare(["a", "b"], ["b", "c"], token="feature")["resemblance"]["exact"] == 1 / 3


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda: lookalike.sketch(""), lookalike.EmptyError, "cannot use `text`: "),
        (lambda: lookalike.compare(A, " . "), lookalike.EmptyError, "cannot use `b`: "),
        (lambda: lookalike.sketch(b"\x89PNG\r\n\x1a\n\0\0\0"), lookalike.EmptyError, "cannot use `text`: "),
        (lambda: lookalike.sketch(A, shingle=0), lookalike.UsageError, "a shingle has 1 to 1048576 tokens"),
        (lambda: lookalike.sketch(A, samples=-3), lookalike.UsageError, "a sketch keeps 1 to 1048576 samples"),
        (lambda: lookalike.sketch(A, token="wrod"), lookalike.UsageError, "unknown token"),
        (lambda: lookalike.sketch(A, sketch="bloom:3"), lookalike.UsageError, "unknown sketch `bloom:3`"),
        (lambda: lookalike.sketch(A, key=b"short"), lookalike.UsageError, ""),
        (lambda: lookalike.sketch(A, key=b"x" * 32, seed=1), lookalike.UsageError, "a key stands in place"),
        (lambda: lookalike.sketch(A, key="secret"), lookalike.KindError, "`key` must be bytes, and is str"),
        (lambda: lookalike.sketch(7), lookalike.KindError, "`text` must be str or bytes, and is int"),
        (lambda: lookalike.sketch(A, shingle="3"), lookalike.KindError, "`shingle` must be a whole number"),
        (lambda: lookalike.Sketch.from_bytes(b"LKSK"), lookalike.DamagedError, "cannot use sketch: "),
    ],
)
def test_errors_have_the_program_s_words(call, kind, words):
    with pytest.raises(kind) as raised:
        call()
    assert words in str(raised.value) and isinstance(raised.value, lookalike.Error)
    assert pickle.loads(pickle.dumps(raised.value)).args == raised.value.args


def test_a_lone_surrogate_is_an_error_of_ours(tmp_path):
    pages = lookalike.Collection.create(tmp_path / "c")
    pages.add([A])
    for call in (
        lambda: lookalike.sketch("a \ud800 b"),
        lambda: lookalike.compare(A, "\ud800"),
        lambda: pages.add(["fine", "\ud800"]),
        lambda: pages.add([{"text": "fine", "id": "\ud800"}]),
        lambda: pages.find("\ud800"),
        lambda: pages.find(url="\ud800"),
        lambda: pages.where("\ud800"),
        lambda: pages.documents(policy="\ud800"),
    ):
        with pytest.raises(lookalike.UsageError, match="surrogates not allowed"):
            call()


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda: lookalike.sketch(""), "give a text"),
        (lambda: lookalike.sketch("..."), 'token="char"'),
        (lambda: lookalike.sketch(b"\x89PNG\r\n\x1a\n\0\0\0"), 'format="text"'),
    ],
)
def test_hints_speak_of_arguments(call, words):
    with pytest.raises(lookalike.EmptyError) as raised:
        call()
    assert words in raised.value.hint and "--" not in raised.value.hint


def test_ctrl_c_ends_a_long_comparison():
    code = """if True:
        import lookalike, signal, time
        a = " ".join(str(n * n % 99991) for n in range(2_000_000))
        b = " ".join(str(n * n % 99991) for n in range(1000, 2_000_000) if n % 30)
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        start = time.monotonic()
        try:
            # Some seconds of work.
            lookalike.compare(a, b)
        except KeyboardInterrupt:
            print(time.monotonic() - start < 1)
    """
    assert subprocess.check_output([sys.executable, "-c", code], text=True, timeout=300) == "True\n"
