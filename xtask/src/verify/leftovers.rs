//! Traces of the work that do not belong in the result: paths of somebody's machine, unfinished spots.

use std::path::Path;

use super::files::text_files;
use crate::cargo::root;
use crate::failure::Failure;

pub(crate) const WHAT: &str = "no path of a developer's machine, no unfinished spot";

/// Written in pieces, or this file would be the first to be found.
const HOMES: [&str; 4] =
    [concat!("/ho", "me/"), concat!("/Us", "ers/"), concat!("/ro", "ot/"), concat!(r"\Us", r"ers\")];
const UNFINISHED: [&str; 2] = [concat!("to", "do!("), concat!("FIX", "ME")];

pub(crate) fn check() -> Result<(), Failure> {
    let root = root();
    let mut found = 0;
    for file in text_files()? {
        for (number, line) in file.text.lines().enumerate() {
            if let Some(what) = leftover(line, &root) {
                println!("{}:{}: {what}", file.path.display(), number + 1);
                found += 1;
            }
        }
    }
    match found {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{found} lines hold something left over; they are listed above"))),
    }
}

fn leftover(line: &str, root: &Path) -> Option<String> {
    if let Some(home) = HOMES.iter().find(|home| starts_a_path(line, home)) {
        return Some(format!("a path under somebody's `{home}`"));
    }
    let root_text = root.to_string_lossy();
    // A short root such as `/src` may well be meant; a longer one is this checkout.
    if root.components().count() > 2 && starts_a_path(line, &root_text) {
        return Some(format!("the path of this checkout, `{root_text}`"));
    }
    let word = UNFINISHED.iter().find(|word| line.contains(**word))?;
    Some(format!("`{word}`"))
}

/// Whether `prefix` stands at the start of a path: in the middle of one, or of a web address, it is not meant.
fn starts_a_path(line: &str, prefix: &str) -> bool {
    line.match_indices(prefix).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| !c.is_alphanumeric() && !"._-~})".contains(c))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> bool {
        leftover(line, Path::new("/builds/tenure")).is_some()
    }

    #[test]
    fn a_home_is_found_wherever_a_path_can_start() {
        for home in HOMES {
            assert!(found(&format!("{home}ada/tenure")));
            assert!(found(&format!("let path = \"{home}ada\";")));
            assert!(found(&format!("file://{home}ada")));
        }
        assert!(found(concat!(r"C:\Us", r"ers\ada")));
    }

    #[test]
    fn the_checkout_itself_is_found() {
        assert!(found("see /builds/tenure/README.md"));
        assert!(leftover("WORKDIR /src/app", Path::new("/src")).is_none());
    }

    #[test]
    fn an_address_on_the_web_is_no_home() {
        assert!(!found(&format!("https://example.org{}page", HOMES[0])));
        assert!(!found(&format!("/srv{}x", HOMES[0])));
    }

    #[test]
    fn an_unfinished_spot_is_found() {
        for word in UNFINISHED {
            assert!(found(&format!("    {word} later")));
        }
        assert!(!found("a to-do list"));
    }
}
