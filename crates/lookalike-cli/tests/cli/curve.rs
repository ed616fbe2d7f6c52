use crate::{Folder, assert_snapshot};

#[test]
fn curves_are_tables_and_json() {
    let folder = Folder::with(&[]);
    assert_snapshot(
        "curve",
        &[
            folder.run("curve"),
            folder.run(
                "curve --features 2x3/1 --full 10@0.9 --super-shingles 20/4 --eight 7 --step 0.25",
            ),
            folder.run("curve --full 10@0.9 --step 0.5 --json"),
        ],
    );
}

#[test]
fn a_drawing_stands_on_its_own() {
    let folder = Folder::with(&[]);
    for log in ["", "--log"] {
        let ran = folder.run(&format!("curve --svg out.svg {log} --quiet"));
        assert_eq!((ran.status, ran.stderr.as_str()), (Some(0), ""));
        let svg = folder.read("out.svg");
        assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
        assert!(svg.contains("features 6x14/2") && svg.contains("resemblance"));
        assert!(!svg.contains("NaN") && !svg.contains("inf"));
        assert!(!svg.contains("<script") && !svg.contains("href"));
        assert_eq!(svg.contains("Probability of rejection"), !log.is_empty());
    }
}
