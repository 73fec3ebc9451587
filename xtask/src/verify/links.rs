//! Relative links in Markdown files must lead to a file that exists.

use std::path::{Component, Path, PathBuf};

use super::files::text_files;
use crate::cargo::root;
use crate::failure::Failure;

pub(crate) const WHAT: &str = "relative links in Markdown files lead somewhere";

pub(crate) fn check() -> Result<(), Failure> {
    let root = root();
    if !root.join("README.md").exists() {
        return Err(Failure::new("there is no README.md"));
    }
    let mut broken = 0;
    for file in text_files()? {
        if file.path.extension().is_none_or(|kind| kind != "md") {
            continue;
        }
        for link in links(&file.text) {
            let leads_somewhere =
                destination(&file.path, &link.target).is_some_and(|destination| root.join(destination).exists());
            if !leads_somewhere {
                println!("{}:{}: nothing at `{}`", file.path.display(), link.line, link.target);
                broken += 1;
            }
        }
    }
    match broken {
        0 => Ok(()),
        _ => Err(Failure::new(format!("{broken} links lead nowhere; they are listed above"))),
    }
}

/// A link to another file of the repository.
#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

/// All relative links of a Markdown text: inline, by reference, and in HTML.
fn links(markdown: &str) -> Vec<Link> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (index, line) in markdown.lines().enumerate() {
        let start = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|m| start.starts_with(m)) {
            match fence {
                None => fence = Some(mark),
                Some(open) if open == mark => fence = None,
                Some(_) => {}
            }
            continue;
        }
        if fence.is_some() {
            continue;
        }
        let prose = without_code(line);
        let targets = after_each(&prose, "](", ')')
            .chain(after_each(&prose, "href=\"", '"'))
            .chain(after_each(&prose, "src=\"", '"'))
            .chain(defined(&prose));
        found.extend(targets.filter_map(relative).map(|target| Link { line: index + 1, target }));
    }
    found
}

/// The line with its `code spans` taken out.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

fn after_each<'a>(text: &'a str, open: &'a str, close: char) -> impl Iterator<Item = &'a str> {
    text.match_indices(open).filter_map(move |(at, _)| Some(text[at + open.len()..].split_once(close)?.0))
}

/// The target in `[name]: target`; `[^1]: …` is a footnote.
fn defined(line: &str) -> Option<&str> {
    let (name, target) = line.trim_start().strip_prefix('[')?.split_once("]: ")?;
    (!name.starts_with('^')).then_some(target)
}

/// The path a link names, without title and fragment; nothing when it leads out of the repository.
fn relative(link: &str) -> Option<String> {
    let link = link.trim();
    let bare = match link.strip_prefix('<') {
        Some(enclosed) => enclosed.split('>').next()?,
        None => link.split_whitespace().next()?,
    };
    let path = bare.split(['#', '?']).next()?;
    let is_address = path.split('/').next()?.contains(':') || path.starts_with("//");
    (!path.is_empty() && !is_address).then(|| path.to_owned())
}

/// Where a link leads, from the root; nothing when it climbs above the root.
fn destination(file: &Path, target: &str) -> Option<PathBuf> {
    let start = match target.strip_prefix('/') {
        Some(_) => Path::new(""),
        None => file.parent().unwrap_or(Path::new("")),
    };
    let mut destination = PathBuf::new();
    for component in start.join(target.trim_start_matches('/')).components() {
        match component {
            Component::Normal(name) => destination.push(name),
            Component::ParentDir => destination.pop().then_some(())?,
            _ => {}
        }
    }
    Some(destination)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(markdown: &str) -> Vec<String> {
        links(markdown).into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn relative_links_of_every_form_are_found() {
        assert_eq!(targets("[a](docs/a.md) and ![b](<b c.svg> \"B\")"), ["docs/a.md", "b c.svg"]);
        assert_eq!(targets("[a](a.md#part \"title\")"), ["a.md"]);
        assert_eq!(targets("[safety]: docs/safety.md"), ["docs/safety.md"]);
        assert_eq!(targets("<img src=\"docs/logo.svg\">"), ["docs/logo.svg"]);
    }

    #[test]
    fn links_out_of_the_repository_are_left_alone() {
        assert!(targets("[a](https://example.org/a.md) [b](#b) [c](mailto:c@d.e)").is_empty());
        assert!(targets("[^1]: a footnote").is_empty());
    }

    #[test]
    fn code_holds_no_links() {
        assert!(targets("```rust\nlet x = [a](b);\n```\n`[a](b)` ~").is_empty());
        assert_eq!(targets("~~~\n```\n~~~\n[a](b.md)"), ["b.md"]);
    }

    #[test]
    fn a_link_knows_its_line() {
        assert_eq!(links("\n\n[a](b.md)"), [Link { line: 3, target: "b.md".to_owned() }]);
    }

    #[test]
    fn a_link_starts_from_its_file_or_from_the_root() {
        let from = |target| destination(Path::new("docs/guide/a.md"), target);
        assert_eq!(from("b.md"), Some("docs/guide/b.md".into()));
        assert_eq!(from("../b.md"), Some("docs/b.md".into()));
        assert_eq!(from("/README.md"), Some("README.md".into()));
        assert_eq!(from("../../../outside.md"), None);
    }
}
