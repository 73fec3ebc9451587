//! Every crate that is published can be packaged.

use std::fs;
use std::path::PathBuf;

use crate::cargo::{cargo, output_of, root};
use crate::failure::Failure;

pub(crate) const WHAT: &str = "cargo package --list for every published crate";

/// What a package is of no use without.
const NEEDED: [&str; 2] = ["Cargo.toml", "README.md"];

/// Only lists, so that it works offline and before the crates it depends on are published.
pub(crate) fn check() -> Result<(), Failure> {
    for manifest in published()? {
        let mut command = cargo(["package", "--allow-dirty", "--no-verify", "--list"]);
        command.arg("--manifest-path").arg(&manifest);
        let list = output_of(&mut command)?;
        let name = manifest.display();
        if let Some(missing) = missing(&list) {
            return Err(Failure::new(format!("the package of {name} lacks {missing}")));
        }
        println!("{name}: {} files", list.lines().count());
    }
    Ok(())
}

fn missing(list: &str) -> Option<&'static str> {
    NEEDED.into_iter().find(|needed| !list.lines().any(|file| file == *needed))
}

/// The manifests under `crates/` that do not say `publish = false`.
fn published() -> Result<Vec<PathBuf>, Failure> {
    let unreadable = |error| Failure::new(format!("crates/ could not be read: {error}"));
    let mut manifests = Vec::new();
    for entry in fs::read_dir(root().join("crates")).map_err(unreadable)? {
        let directory = PathBuf::from("crates").join(entry.map_err(unreadable)?.file_name());
        let manifest = directory.join("Cargo.toml");
        if let Ok(text) = fs::read_to_string(root().join(&manifest))
            && !text.lines().any(|line| line.trim() == "publish = false")
        {
            manifests.push(manifest);
        }
    }
    manifests.sort();
    Ok(manifests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_without_a_readme_is_noticed() {
        assert_eq!(missing("Cargo.toml\nREADME.md\nsrc/lib.rs\n"), None);
        assert_eq!(missing("Cargo.toml\nsrc/lib.rs\n"), Some("README.md"));
    }
}
