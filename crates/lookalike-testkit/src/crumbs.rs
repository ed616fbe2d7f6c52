//! A site whose addresses have crumbs: what was planted is known.
//!
//! ```text
//! pages ─► each under several addresses ─► captures (address, sweep, text), and the rules
//! ```
//!
//! Beside every crumb stands what looks like one and is none: parameters that matter, pages
//! of one template that differ by a word, versions of a manual that are mostly the same,
//! the one page "not found" at many addresses, sections too small to tell, mirrors that lag.

use crate::texts;

/// A page as it was captured: address, sweep, text.
pub type Captured = (String, u32, String);

/// A site, and what is true of its addresses.
#[derive(Debug)]
pub struct CrumbSite {
    /// What a crawler saw.
    pub captures: Vec<Captured>,
    /// The rules that were planted, as they are told to people.
    pub planted: Vec<&'static str>,
    /// The page that each capture is of: two with one name are one page.
    pub names: Vec<String>,
}

/// The main host.
const MAIN: &str = "https://shop.example";

/// 120 words that no other name shares.
fn text(name: &str) -> String {
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| {
        (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    texts::words(seed, 120).join(" ")
}

/// An id of eight digits to base 16, one of them a digit and one a letter.
fn id(number: usize) -> String {
    format!("{:06x}a1", (number * 2_654_435 + 77) % (1 << 24))
}

#[derive(Default)]
struct Maker {
    captures: Vec<Captured>,
    names: Vec<String>,
}

impl Maker {
    /// One page at one address, in both sweeps.
    fn page(&mut self, address: String, name: &str) {
        self.page_of(address, name, &text(name));
    }

    fn page_of(&mut self, address: String, name: &str, text: &str) {
        for (sweep, address) in [(0, address.clone()), (1, address)] {
            self.captures.push((address, sweep, text.to_owned()));
            self.names.push(name.to_owned());
        }
    }
}

/// Makes the site; the same at every call.
#[expect(
    clippy::too_many_lines,
    reason = "one place for each crumb, one after the other"
)]
pub fn crumb_site() -> CrumbSite {
    let mut site = Maker::default();
    let mut planted = Vec::new();
    let words = |topic: usize| ["apple", "birch", "cedar", "daisy", "elder"][topic % 5];

    // Parameters that do not matter, everywhere and in one section, beside one that does.
    planted.push("https://shop.example/…: ?utm_source= does not matter");
    planted.push("https://shop.example/items/…: ?sid= does not matter");
    for i in 0..30 {
        let name = format!("item {i}");
        let item = format!(
            "{MAIN}/items/{}?id={i}",
            if i % 2 == 0 { "view" } else { "show" }
        );
        site.page(item.clone(), &name);
        site.page(format!("{item}&utm_source=mail"), &name);
        site.page(format!("{item}&sid={}", id(i)), &name);
        site.page(format!("{item}&sid={}", id(i + 500)), &name);
        let article = format!("{MAIN}/news/{}-{i}", words(i));
        site.page(article.clone(), &format!("news {i}"));
        site.page(format!("{article}?utm_source=feed"), &format!("news {i}"));
    }
    // The same name matters elsewhere.
    for i in 0..12 {
        let name = format!("survey {i}");
        site.page(format!("{MAIN}/surveys/run?sid={i}"), &name);
    }
    // Pages of one template: they differ by a word, and none is another.
    for i in 0..20 {
        let name = format!("size {i}");
        let (shared, own) = (text("template"), format!("size{i}"));
        let page = format!("{shared} {own}");
        site.page_of(format!("{MAIN}/sizes/table?size={i}"), &name, &page);
    }
    // A parameter that is the same for most pages, and not for all.
    for i in 0..20 {
        let page = format!("{MAIN}/prices/list-{i}");
        let name = format!("price {i}");
        site.page(page.clone(), &name);
        let other = if i < 18 {
            name
        } else {
            format!("price {i} tax")
        };
        site.page(format!("{page}?tax=1"), &other);
    }
    // One page at many addresses: there is no such item.
    for i in 0..40 {
        site.page(format!("{MAIN}/search?q=missing{i}&offset=0"), "nothing");
        site.page(format!("{MAIN}/search?q=missing{i}&offset=10"), "nothing");
    }
    // Values that are never seen twice on one page.
    for i in 0..20 {
        site.page(
            format!("{MAIN}/once/page-{i}?token={}", id(i + 900)),
            &format!("once {i}"),
        );
    }
    // Too few pages to tell.
    for i in 0..3 {
        let page = format!("{MAIN}/small/page-{i}");
        site.page(page.clone(), &format!("small {i}"));
        site.page(format!("{page}?view=1"), &format!("small {i}"));
    }

    // Session ids in paths, beside ids that matter.
    planted.push("https://shop.example/s/[0-9a-f]{8}/: the id does not matter");
    planted.push("https://shop.example/…: ;jsessionid= does not matter");
    for i in 0..15 {
        let name = format!("basket {i}");
        site.page(format!("{MAIN}/s/{}/basket-{i}", id(2 * i)), &name);
        site.page(format!("{MAIN}/s/{}/basket-{i}", id(2 * i + 1)), &name);
        let name = format!("account {i}");
        site.page(
            format!(
                "{MAIN}/account/page-{i};jsessionid={}",
                id(i).to_uppercase()
            ),
            &name,
        );
        site.page(
            format!(
                "{MAIN}/account/page-{i};jsessionid={}",
                id(i + 77).to_uppercase()
            ),
            &name,
        );
        for view in ["photo", "map"] {
            let name = format!("place {i} {view}");
            site.page(format!("{MAIN}/places/{}/{view}", id(i + 300)), &name);
        }
    }

    // Ids in brackets, as some servers write them, and ids with a name before them.
    planted.push(r"https://shop.example/app/\(S\([0-9A-Za-z]{12}\)\)/: the id does not matter");
    planted.push("https://shop.example/cart/sid-[0-9a-f]{8}/: the id does not matter");
    for i in 0..8 {
        let name = format!("order {i}");
        for turn in 0..2 {
            let session = id(40 * i + turn + 1000);
            let page = format!("{MAIN}/app/(S(x9zk{session}))/order-{i}.aspx");
            site.page(page, &name);
            let page = format!("{MAIN}/cart/sid-{session}/line-{i}");
            site.page(page, &format!("line {i}"));
        }
    }

    // Parameters in either order; and some whose order says what comes first.
    planted.push("https://shop.example/…: ?colour= and kind= may stand in either order");
    for i in 0..8 {
        let name = format!("filter {i}");
        site.page(format!("{MAIN}/filter?colour={i}&kind={}", i % 3), &name);
        site.page(format!("{MAIN}/filter?kind={}&colour={i}", i % 3), &name);
        for (page, name) in [("by=a&then=b", "a"), ("then=b&by=a", "b")] {
            site.page(format!("{MAIN}/sorted-{i}?{page}"), &format!("{i} {name}"));
        }
    }

    // A directory that stands elsewhere too, and one of which a page there is another.
    planted.push("https://shop.example/users/ann/ has the pages of /~ann/");
    for i in 0..9 {
        for home in ["~ann", "users/ann", "~bob", "users/bob"] {
            let owner = &home[home.len() - 3..];
            let is_own = home == "users/bob" && i == 4;
            let name = format!("{owner} {i}{}", if is_own { " too" } else { "" });
            site.page(format!("{MAIN}/{home}/notes/{}{i}", words(i)), &name);
            site.page(format!("{MAIN}/{home}/talk-{i}"), &format!("talk {name}"));
        }
    }

    // A directory under two names, and a version that is mostly the same.
    planted.push("https://shop.example/docs/v2/ has the pages of /docs/latest/");
    for i in 0..20 {
        let name = format!("manual {i}");
        site.page(format!("{MAIN}/docs/latest/chapter-{i}"), &name);
        site.page(format!("{MAIN}/docs/v2/chapter-{i}"), &name);
        let old = if i % 5 == 0 {
            format!("manual {i} first")
        } else {
            name
        };
        site.page(format!("{MAIN}/docs/v1/chapter-{i}"), &old);
    }
    site.page(format!("{MAIN}/docs/latest/preface"), "preface");
    // Two versions that ship the same library in one folder, and whose own pages were not
    // both seen.
    for i in 0..8 {
        for version in ["v1.5", "v1.6"] {
            let page = format!("{MAIN}/tool/{version}/library/note-{i}");
            site.page(page, &format!("library {i}"));
        }
    }

    // Index pages and slashes.
    planted.push("https://shop.example/…/index.html is the page of its directory");
    planted.push("https://shop.example/…/: the last slash does not matter");
    for i in 0..12 {
        let name = format!("topic {i}");
        site.page(format!("{MAIN}/topics/{}{i}/", words(i)), &name);
        site.page(format!("{MAIN}/topics/{}{i}/index.html", words(i)), &name);
        let name = format!("help {i}");
        site.page(format!("{MAIN}/help/{}{i}", words(i)), &name);
        site.page(format!("{MAIN}/help/{}{i}/", words(i)), &name);
    }

    // Capitals: nothing on one host, another page on the next.
    planted.push("http://legacy.example/…: capitals do not matter");
    for i in 0..10 {
        let name = format!("legacy {i}");
        site.page(format!("http://legacy.example/Pages/Word{i}.ASP"), &name);
        site.page(format!("http://legacy.example/pages/word{i}.asp"), &name);
        site.page(
            format!("http://unix.example/Notes/{i}"),
            &format!("unix {}", i % 9),
        );
        let other = if i == 3 { 99 } else { i % 9 };
        site.page(
            format!("http://unix.example/notes/{i}"),
            &format!("unix {other}"),
        );
    }

    mirrors(&mut site, &mut planted);
    CrumbSite {
        captures: site.captures,
        planted,
        names: site.names,
    }
}

/// Four mirrors, one of which lags and one of which has all in a directory, and a host that
/// is none.
fn mirrors(site: &mut Maker, planted: &mut Vec<&'static str>) {
    planted.push("http://shop.example has the pages of https://shop.example");
    planted.push("https://www.shop.example has the pages of https://shop.example");
    planted.push("https://mirror.example.net has the pages of https://shop.example");
    planted.push("https://cdn.example/pub/shop/ has the pages of https://shop.example/");
    let own = site.captures.len();
    let mut mirrored = 0;
    for i in (0..own).step_by(2) {
        let (address, _, words) = site.captures[i].clone();
        let name = site.names[i].clone();
        let Some(path) = address.strip_prefix(MAIN).map(str::to_owned) else {
            continue;
        };
        mirrored += 1;
        if mirrored % 3 == 0 {
            site.page_of(format!("http://shop.example{path}"), &name, &words);
        }
        if mirrored % 4 == 0 {
            site.page_of(format!("https://www.shop.example{path}"), &name, &words);
        }
        if mirrored % 6 == 1 {
            site.page_of(format!("https://cdn.example/pub/shop{path}"), &name, &words);
        }
        if mirrored % 2 == 0 {
            // Each twentieth page is an older version.
            let lags = mirrored % 40 == 0;
            let words = if lags {
                format!("{words} as it was before")
            } else {
                words
            };
            site.page_of(format!("https://mirror.example.net{path}"), &name, &words);
        }
        // A rival copied the imprint and some news, and has its own for the rest.
        if mirrored % 5 == 0 {
            let is_own = mirrored % 2 == 0;
            let words = if is_own {
                text(&format!("rival {name}"))
            } else {
                site.captures[i].2.clone()
            };
            let name = if is_own {
                format!("rival {name}")
            } else {
                name
            };
            site.page_of(format!("https://rival.example{path}"), &name, &words);
        }
    }
}
