use crate::{Folder, Ran, assert_snapshot};

#[test]
fn an_input_that_is_no_document_ends_with_4() {
    let folder = Folder::with(&[
        ("a.txt", b"a rose"),
        ("binary", b"a\0b"),
        ("picture.png", b"\x89PNG\r\n\x1a\n"),
        ("empty", b""),
        ("blank", b" \n\t ... \n"),
        ("folder/inside", b"x"),
        ("two.jsonl", b"{\"features\":[1]}\n{\"features\":[2]}\n"),
        ("odd.json", b"{\"features\":[1,null]}"),
        ("cut.json", b"{\"features\":[1,2"),
    ]);
    let commands = [
        "compare a.txt none",
        "compare folder a.txt",
        "compare a.txt binary",
        "compare picture.png a.txt",
        "compare a.txt empty",
        "compare a.txt blank",
        "compare a.txt -",
        "sketch none",
        "sketch folder",
        "sketch binary",
        "sketch empty",
        "sketch blank",
        "sketch /dev/null",
        "sketch two.jsonl --token feature",
        "sketch odd.json --token feature",
        "sketch cut.json --token feature",
    ];
    let ran = commands.map(|args| folder.run(args));
    for one in &ran {
        assert_eq!(one.status, Some(4), "{one}");
        assert!(one.stdout.is_empty(), "{one}");
        assert_eq!(one.stderr.lines().count(), 2, "{one}");
    }
    assert_snapshot("unusable", &ran);
}

#[test]
fn an_output_that_is_an_input_is_refused_and_nothing_lost() {
    let folder = Folder::of_roses();
    let before = folder.read("a.txt");
    for args in [
        "sketch a.txt -o a.txt",
        "compare a.txt b.txt --html ./a.txt",
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.status, Some(2), "{ran}");
        assert!(ran.stderr.contains("would be overwritten"), "{ran}");
        assert_eq!(folder.read("a.txt"), before);
    }
}

#[test]
fn arguments_that_make_no_sense_end_with_2() {
    let folder = Folder::with(&[("a.txt", b"a rose"), ("key", b"too short")]);
    let commands = [
        "compare a.txt a.txt --shingle 0",
        "compare a.txt a.txt --shingle 18446744073709551615",
        "compare a.txt a.txt --sketch bloom:3",
        "compare a.txt a.txt --sketch mod:0",
        "compare a.txt a.txt --token sentence",
        "compare a.txt a.txt --seed x",
        "compare a.txt a.txt --seed -1",
        "compare a.txt a.txt --key-file /dev/zero",
        "compare a.txt a.txt --samples 0",
        "compare a.txt a.txt --samples 9 --sketch mod:3",
        "compare a.txt a.txt --key-file key",
        "compare a.txt a.txt --key-file none",
        "compare a.txt a.txt --format pdf",
        "compare a.txt",
        "compare - -",
        "compare a.txt a.txt --shingel 3",
        "scan",
        "scan . --resemblance 0",
        "scan . --containment 1.5",
        "curve --features 6x14",
        "curve --features 6x14/7",
        "curve --full 84@2",
        "curve --super-shingles 0/3",
        "curve --eight 4",
        "curve --log",
        "curve --step 0",
        "compar",
    ];
    let mut ran = Vec::from(commands.map(|args| folder.run(args)));
    let simd = |value: &str| {
        let mut command = folder.command("curve");
        Ran::of("curve", command.env("LOOKALIKE_SIMD", value))
    };
    ran.push(simd("sse9"));
    for one in &ran {
        assert_eq!(one.status, Some(2), "{one}");
        assert!(one.stdout.is_empty(), "{one}");
        assert_eq!(one.stderr.lines().count(), 2, "{one}");
    }
    assert_snapshot("usage", &ran);
}

#[test]
fn a_damaged_sketch_ends_with_5() {
    let folder = Folder::of_roses();
    folder.run("sketch a.txt -o good.sketch");
    let good = std::fs::read(folder.at("good.sketch")).expect("a sketch");
    let mut flipped = good.clone();
    flipped[20] ^= 1;
    std::fs::write(folder.at("flipped.sketch"), flipped).expect("a file");
    std::fs::write(folder.at("cut.sketch"), &good[..good.len() - 3]).expect("a file");
    let mut newer = good;
    newer[4] = 9;
    std::fs::write(folder.at("newer.sketch"), newer).expect("a file");
    let ran = ["flipped", "cut", "newer"]
        .map(|name| folder.run(&format!("compare good.sketch {name}.sketch")));
    assert!(ran.iter().all(|one| one.status == Some(5)));
    assert_snapshot("damaged", &ran);
}

#[test]
fn an_output_that_cannot_be_written_ends_with_6() {
    let folder = Folder::of_roses();
    let ran = [
        "compare a.txt b.txt --html none/out.html",
        "sketch a.txt -o none/out.sketch",
        "curve --svg none/out.svg",
    ]
    .map(|args| folder.run(args));
    assert!(ran.iter().all(|one| one.status == Some(6)));
    assert_snapshot("unwritable", &ran);
}

#[test]
fn no_output_destroys_an_input() {
    let folder = Folder::with(&[
        ("v.jsonl", b"{\"id\": \"a\", \"text\": \"one two three\"}\n"),
        ("docs/a.txt", b"one two three"),
    ]);
    assert_eq!(folder.run("add c.lk v.jsonl -q").status, Some(0));
    let before = folder.read("v.jsonl");
    let ran = [
        "scan v.jsonl --rejects ./v.jsonl",
        "scan docs --rejects docs/a.txt",
        "add c.lk v.jsonl --rejects v.jsonl",
        "dedup v.jsonl -o out --report v.jsonl",
        "cluster c.lk -o v.jsonl",
        "export c.lk documents -o v.jsonl",
        "export c.lk documents -o c.lk/documents-1.lk --format csv",
        "dedup v.jsonl -o -",
    ]
    .map(|args| folder.run(args));
    assert!(ran.iter().all(|one| one.status == Some(2)));
    assert_snapshot("inputs_are_spared", &ran);
    assert_eq!(folder.read("v.jsonl"), before);
    assert_eq!(folder.read("docs/a.txt"), "one two three");
    assert_eq!(folder.run("verify c.lk").status, Some(0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_told() {
    let folder = Folder::of_roses();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let args = "compare a.txt b.txt";
    let ran = Ran::of(
        args,
        folder.command(args).stdout(full.expect("Linux has one")),
    );
    assert_eq!(ran.status, Some(6), "{ran}");
    assert!(
        ran.stderr.contains("error: cannot write the answer"),
        "{ran}"
    );
}

#[test]
fn a_scratch_folder_that_cannot_be_used_is_named() {
    let folder = Folder::of_roses();
    let ran = folder.run("add c.lk a.txt b.txt --scratch a.txt/there");
    assert_eq!(ran.status, Some(6), "{ran}");
    assert!(ran.stderr.contains("`a.txt/there/lookalike-"), "{ran}");
    assert!(!ran.stderr.contains("c.lk"), "{ran}");
}

#[test]
fn invalid_utf_8_is_read_as_a_browser_would_and_said() {
    let folder = Folder::with(&[
        ("whole.txt", "Déjà vu, naïveté".as_bytes()),
        (
            "latin.txt",
            b"Un caf\xe9 cr\xe8me, s'il vous pla\xeet, et deux croissants",
        ),
        (
            "broken.txt",
            b"\xc3\xa9t\xc3\xa9 caf\xe9 na\xc3\xafvet\xc3\xa9 \xe2\x82",
        ),
    ]);
    assert_snapshot(
        "charsets",
        &[
            folder.run("compare latin.txt broken.txt --shingle 1"),
            folder.run("compare whole.txt broken.txt --shingle 1 --quiet"),
        ],
    );
}

#[test]
fn help_is_an_answer() {
    let folder = Folder::with(&[]);
    for args in [
        "--help",
        "scan --help",
        "compare --help",
        "sketch --help",
        "curve --help",
    ] {
        let ran = folder.run(args);
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""), "{ran}");
        assert!(ran.stdout.contains("Example"), "{ran}");
    }
    // Nothing asked: the same, as an error.
    let ran = folder.run("");
    assert_eq!((ran.status, ran.stdout.as_str()), (Some(2), ""), "{ran}");
    assert!(ran.stderr.contains("Usage: lookalike"), "{ran}");
}
