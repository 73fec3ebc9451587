//! The files of the repository: tracked ones, and new ones that git would not ignore.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::cargo::{at_root, root};
use crate::failure::Failure;

/// A file that is text, with its path from the root.
#[derive(Debug)]
pub(crate) struct TextFile {
    pub(crate) path: PathBuf,
    pub(crate) text: String,
}

/// All text files; whatever is not UTF-8 is left out.
pub(crate) fn text_files() -> Result<Vec<TextFile>, Failure> {
    let root = root();
    let mut paths = match listed_by_git() {
        Some(paths) => paths,
        // An unpacked release has no git around it.
        None => {
            found_by_walking(&root).map_err(|error| Failure::new(format!("the files could not be listed: {error}")))?
        }
    };
    paths.sort();
    Ok(paths
        .into_iter()
        .filter_map(|path| {
            let text = fs::read_to_string(root.join(&path)).ok()?;
            Some(TextFile { path, text })
        })
        .collect())
}

fn listed_by_git() -> Option<Vec<PathBuf>> {
    let output = at_root(Command::new("git"))
        .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
        .stderr(Stdio::null())
        .output()
        .ok()?;
    if !output.status.success() {
        return None;
    }
    let names = String::from_utf8_lossy(&output.stdout).into_owned();
    Some(names.split('\0').filter(|name| !name.is_empty()).map(PathBuf::from).collect())
}

fn found_by_walking(root: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(directory) = pending.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if entry.file_type()?.is_dir() {
                if name != ".git" && name != "target" && !name.starts_with("target-") {
                    pending.push(entry.path());
                }
            } else if let Ok(path) = entry.path().strip_prefix(root) {
                found.push(path.to_path_buf());
            }
        }
    }
    Ok(found)
}
