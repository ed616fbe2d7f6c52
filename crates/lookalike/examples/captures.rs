//! When and where was each page captured? One JSON object a capture, as an index of web
//! archives has it (`scripts/check-captures` compares it with that of `cdxj-indexer`).
//!
//! ```text
//! cargo run --example captures -- COLLECTION
//! ```

use lookalike::collection::Collection;
use serde_json::json;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("name a collection")?;
    let collection = Collection::open(folder.as_ref())?;
    let mut sources = Vec::new();
    for sweep in 0..collection.state().sweeps.len() {
        sources.push(collection.stored_sources(sweep)?);
    }
    for doc in 0..collection.documents() {
        let (_, url) = collection.strings(doc, &collection.entry(doc)?)?;
        for one in collection.captures_of(doc)? {
            let hex = |digest: [u8; 20]| digest.map(|byte| format!("{byte:02x}")).concat();
            let line = json!({
                "filename": sources[one.add][one.source as usize].name,
                "offset": one.offset.0,
                "length": one.record_len,
                "url": url,
                "date": one.own_date.map(|date| date.0),
                "mime": one.mime,
                "status": one.status,
                "digest": one.digest.map(hex),
                "revisit": one.is_revisit,
            });
            println!("{line}");
        }
    }
    Ok(())
}
