use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;

use super::*;
use crate::corpus::options::ReadOptions;

struct Silent;

impl Watch for Silent {
    fn event(&mut self, _: Event<'_>) {}
}

/// A line: the group it is of, how many words more than the shortest, and its day.
#[derive(Clone, Copy, Debug)]
struct Line {
    group: u8,
    more: u8,
    day: u8,
}

fn line() -> impl Strategy<Value = Line> {
    (0_u8..6, 0_u8..8, 1_u8..28).prop_map(|(group, more, day)| Line { group, more, day })
}

fn json(id: usize, line: Line) -> String {
    let words = (0..40 + line.more).map(|i| format!("g{}w{i}", line.group));
    let text = words.collect::<Vec<_>>().join(" ");
    let day = line.day;
    format!("{{\"id\":\"{id}\",\"date\":\"2024-01-{day:02}\",\"text\":\"{text}\"}}\n")
}

fn options(keep: Keep) -> DedupOptions {
    DedupOptions {
        add: AddOptions {
            memory: 64 << 20,
            ..AddOptions::default()
        },
        keep,
        form: Form::Filtered,
        existing: Existing::Refuse,
        against: None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn exactly_the_best_of_each_group_stays(shards in prop::collection::vec(prop::collection::vec(line(), 1..12), 1..4)) {
        for keep in [Keep::First, Keep::Longest, Keep::Newest] {
            let folder = tempfile::tempdir()?;
            let mut best: BTreeMap<u8, (u8, usize)> = BTreeMap::new();
            let mut id = 0;
            for (number, lines) in shards.iter().enumerate() {
                let mut text = String::new();
                for &line in lines {
                    text.push_str(&json(id, line));
                    let merit = match keep {
                        Keep::First => 0,
                        Keep::Longest => line.more,
                        Keep::Newest => line.day,
                    };
                    let known = best.entry(line.group).or_insert((merit, id));
                    if merit > known.0 {
                        *known = (merit, id);
                    }
                    id += 1;
                }
                fs::write(folder.path().join(format!("{number}.jsonl")), text)?;
            }
            let arguments = [folder.path().to_owned()];
            let inputs = Inputs::expand(&arguments, &ReadOptions::default());
            let to = tempfile::tempdir()?;
            let out = to.path().join("out");
            let outputs = Outputs::plan(&inputs, &arguments, &out);
            let work = to.path().join("work");
            let done = dedup(&inputs, &outputs, &work, &options(keep), &mut Silent).unwrap();
            prop_assert_eq!(done.read, id as u64);
            prop_assert_eq!(done.kept + done.removed, done.read);
            prop_assert!(!work.exists());
            let mut stayed = Vec::new();
            for number in 0..shards.len() {
                for line in fs::read_to_string(out.join(format!("{number}.jsonl")))?.lines() {
                    let line: serde_json::Value = serde_json::from_str(line)?;
                    stayed.push(line["id"].as_str().unwrap_or("").parse::<usize>()?);
                }
            }
            let mut expected: Vec<usize> = best.values().map(|(_, id)| *id).collect();
            expected.sort_unstable();
            prop_assert_eq!(stayed, expected);
        }
    }
}

#[test]
fn a_try_that_was_interrupted_does_no_harm() {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("in.jsonl");
    let line = |group| Line {
        group,
        more: 0,
        day: 1,
    };
    fs::write(&input, [json(0, line(1)), json(1, line(1))].concat()).unwrap();
    let arguments = [input];
    let inputs = Inputs::expand(&arguments, &ReadOptions::default());
    let out = folder.path().join("out.jsonl");
    let outputs = Outputs::plan(&inputs, &arguments, &out);
    let work = folder.path().join("work");
    // The inputs were added, and then came the power cut.
    let options = options(Keep::First);
    add(&work, &inputs, &options.add, &mut |_| {}).unwrap();
    let done = dedup(&inputs, &outputs, &work, &options, &mut Silent).unwrap();
    assert_eq!((done.kept, done.removed), (1, 1));
}

#[test]
fn the_same_name_twice_is_refused_and_folders_keep_theirs() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["a", "b"] {
        let below = folder.path().join(name);
        fs::create_dir_all(&below).unwrap();
        let line = Line {
            group: 0,
            more: 0,
            day: 1,
        };
        fs::write(below.join("x.jsonl"), json(0, line)).unwrap();
    }
    let out = folder.path().join("out");
    let both = ["a/x.jsonl", "b/x.jsonl"].map(|name| folder.path().join(name));
    let inputs = Inputs::expand(&both, &ReadOptions::default());
    let outputs = Outputs::plan(&inputs, &both, &out);
    let work = folder.path().join("work");
    let refused = dedup(&inputs, &outputs, &work, &options(Keep::First), &mut Silent);
    assert!(matches!(refused, Err(DedupError::SameName(..))));
    let whole = [folder.path().to_owned()];
    let outputs = Outputs::plan(&inputs, &whole, &out);
    assert_eq!(
        outputs.paths,
        [out.join("a/x.jsonl"), out.join("b/x.jsonl")]
    );
}
