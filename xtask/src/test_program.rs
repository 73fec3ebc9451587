//! The programs that cargo builds of tests, to be run by ourselves.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::cargo::{at_root, output_of};
use crate::failure::Failure;

/// One test program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct TestProgram {
    executable: PathBuf,
    manifest: PathBuf,
    target: String,
}

impl TestProgram {
    /// Builds what a `cargo test` builds, and runs none of it.
    pub(crate) fn build(cargo_test: &mut Command) -> Result<Vec<Self>, Failure> {
        let output = output_of(cargo_test.args(["--no-run", "--message-format=json-render-diagnostics"]))?;
        let programs: Vec<_> = output.lines().filter_map(Self::read).collect();
        if programs.is_empty() { Err(Failure::new("cargo named no test program.")) } else { Ok(programs) }
    }

    /// A call of it where `cargo test` would start it.
    pub(crate) fn command(&self) -> Command {
        let mut command = at_root(Command::new(&self.executable));
        if let Some(package) = self.manifest.parent() {
            command.current_dir(package).env("CARGO_MANIFEST_DIR", package);
        }
        command
    }

    /// The name of its file, which no other one has.
    pub(crate) fn file_name(&self) -> &OsStr {
        self.executable.file_name().unwrap_or_default()
    }

    /// `package/target`.
    pub(crate) fn place(&self) -> String {
        let package = self.manifest.parent().and_then(Path::file_name).unwrap_or_default();
        format!("{}/{}", package.to_string_lossy(), self.target)
    }

    /// Reads one line of cargo's JSON messages; nothing when it is about something else.
    ///
    /// cargo writes one object a line without spaces, and a quote inside of a string is escaped:
    /// a key with its quotes and colon is found where it is meant. That saves a JSON library.
    pub(crate) fn read(line: &str) -> Option<Self> {
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
pub(crate) mod tests {
    use super::*;

    pub(crate) fn line(test: bool, executable: &str) -> String {
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
            TestProgram::read(&line(true, r#""/x/a \"b\"\\c""#)),
            Some(TestProgram {
                executable: PathBuf::from(r#"/x/a "b"\c"#),
                manifest: PathBuf::from("/x/Cargo.toml"),
                target: "tenure".to_owned(),
            })
        );
    }

    #[test]
    fn other_messages_are_passed_over() {
        assert_eq!(TestProgram::read(&line(false, r#""/x/tool""#)), None);
        assert_eq!(TestProgram::read(&line(true, "null")), None);
        assert_eq!(TestProgram::read(r#"{"reason":"build-finished","success":true}"#), None);
    }
}
