//! The test programs of the library, built with the mutants in them.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{at_root, cargo, output_of, target_dir};
use crate::failure::Failure;

/// One test program and the names of its tests.
#[derive(Debug)]
pub(crate) struct Binary {
    artifact: Artifact,
    tests: Vec<String>,
}

impl Binary {
    /// A call of it that ends up in no mutant and no strictness unless told so.
    pub(crate) fn command(&self) -> Command {
        let mut command = at_root(Command::new(&self.artifact.executable));
        // Where `cargo test` would start it.
        if let Some(package) = self.artifact.manifest.parent() {
            command.current_dir(package).env("CARGO_MANIFEST_DIR", package);
        }
        command.env_remove("TENURE_MUTANT").env_remove("TENURE_STRICT");
        command
    }

    pub(crate) fn output(&self, arguments: &[&str]) -> Result<String, Failure> {
        output_of(self.command().args(arguments))
    }

    /// `package/target`, by which a filter can name it.
    fn place(&self) -> String {
        let package = self.artifact.manifest.parent().and_then(Path::file_name).unwrap_or_default();
        format!("{}/{}", package.to_string_lossy(), self.artifact.target)
    }

    pub(crate) fn has_test(&self, name: &str) -> bool {
        self.tests.iter().any(|test| test == name)
    }

    /// Whether the filter picks any of its tests.
    pub(crate) fn matches(&self, filter: &str) -> bool {
        let (place, tests) = parts(filter);
        place.is_none_or(|place| self.place() == place) && self.tests.iter().any(|test| test.contains(tests))
    }
}

/// A filter may name the program too, where several have tests of the same name: `tenure-redis/conformance=renewing::`.
pub(crate) fn parts(filter: &str) -> (Option<&str>, &str) {
    match filter.split_once('=') {
        Some((place, tests)) => (Some(place), tests),
        None => (None, filter),
    }
}

/// Where this chore keeps its build and its logs: flags of its own in the common target directory
/// would rebuild everything twice.
pub(crate) fn directory() -> PathBuf {
    target_dir().join("mutants")
}

/// Lets a call of cargo compile the mutants in.
pub(crate) fn with_mutants(command: &mut Command) {
    let flags = std::env::var("RUSTFLAGS").unwrap_or_default();
    command.env("RUSTFLAGS", format!("{flags} --cfg tenure_mutants").trim()).env("CARGO_TARGET_DIR", directory());
}

/// Builds the tests once for all mutants.
pub(crate) fn build() -> Result<Vec<Binary>, Failure> {
    let mut command = cargo([
        "test",
        "--package",
        "tenure",
        "--package",
        "tenure-cli",
        "--package",
        "tenure-etcd",
        "--package",
        "tenure-redis",
        "--all-features",
        "--lib",
        "--bins",
        "--tests",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ]);
    with_mutants(&mut command);
    let binaries: Vec<Binary> = output_of(&mut command)?
        .lines()
        .filter_map(Artifact::read)
        .map(|artifact| {
            let mut binary = Binary { artifact, tests: Vec::new() };
            binary.tests = test_names(&binary.output(&["--list"])?);
            Ok(binary)
        })
        .collect::<Result<_, Failure>>()?;
    println!("{} test programs", binaries.len());
    Ok(binaries)
}

/// The names in the lines `name: test` that `--list` prints.
fn test_names(list: &str) -> Vec<String> {
    list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

/// What cargo says of a test program it has built.
#[derive(Debug, PartialEq, Eq)]
struct Artifact {
    executable: PathBuf,
    manifest: PathBuf,
    target: String,
}

impl Artifact {
    /// Reads one line of cargo's JSON messages; nothing when it is about something else.
    ///
    /// cargo writes one object a line without spaces, and a quote inside of a string is escaped:
    /// a key with its quotes and colon is found where it is meant. That saves a JSON library.
    fn read(line: &str) -> Option<Self> {
        if !line.starts_with(r#"{"reason":"compiler-artifact""#) {
            return None;
        }
        let (_, profile) = line.split_once(r#""profile":{"#)?;
        let (profile, _) = profile.split_once('}')?;
        // Ordinary programs are built along for the integration tests.
        if !profile.contains(r#""test":true"#) {
            return None;
        }
        let (_, target) = line.split_once(r#""target":{"#)?;
        let target = path_of(target, "name")?.to_string_lossy().into_owned();
        Some(Self { executable: path_of(line, "executable")?, manifest: path_of(line, "manifest_path")?, target })
    }
}

fn path_of(line: &str, key: &str) -> Option<PathBuf> {
    let (_, rest) = line.split_once(&format!(r#""{key}":""#))?;
    let mut text = String::new();
    let mut characters = rest.chars();
    loop {
        match characters.next()? {
            '"' => return Some(Path::new(&text).to_path_buf()),
            // A path needs no other escapes than quote and backslash.
            '\\' => text.push(characters.next()?),
            character => text.push(character),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(test: bool, executable: &str) -> String {
        format!(
            "{{\"reason\":\"compiler-artifact\",\"package_id\":\"path+file:///x#tenure@0.1.0\",\
             \"manifest_path\":\"/x/Cargo.toml\",\"target\":{{\"kind\":[\"lib\"],\"name\":\"tenure\",\
             \"test\":true}},\"profile\":{{\"opt_level\":\"0\",\"debuginfo\":1,\"test\":{test}}},\
             \"features\":[],\"filenames\":[],\"executable\":{executable},\"fresh\":true}}"
        )
    }

    #[test]
    fn a_test_program_is_read_from_its_message() {
        assert_eq!(
            Artifact::read(&line(true, r#""/x/a \"b\"\\c""#)),
            Some(Artifact {
                executable: PathBuf::from(r#"/x/a "b"\c"#),
                manifest: PathBuf::from("/x/Cargo.toml"),
                target: "tenure".to_owned(),
            })
        );
    }

    #[test]
    fn a_filter_can_name_its_program() {
        let artifact = Artifact::read(&line(true, r#""/x/a""#)).expect("it is one");
        let binary = Binary { artifact, tests: vec!["renewing::a".to_owned()] };
        assert_eq!(binary.place(), "x/tenure");
        assert!(binary.matches("renewing") && binary.matches("x/tenure=renewing"));
        assert!(!binary.matches("x/other=renewing") && !binary.matches("x/tenure=standing"));
    }

    #[test]
    fn other_messages_are_passed_over() {
        assert_eq!(Artifact::read(&line(false, r#""/x/tool""#)), None);
        assert_eq!(Artifact::read(&line(true, "null")), None);
        assert_eq!(Artifact::read(r#"{"reason":"build-finished","success":true}"#), None);
    }

    #[test]
    fn test_names_are_read_from_a_list() {
        assert_eq!(
            test_names("a::b: test\n[memory] grants: test\nc: benchmark\n\n2 tests, 1 benchmark\n"),
            ["a::b", "[memory] grants"]
        );
    }
}
