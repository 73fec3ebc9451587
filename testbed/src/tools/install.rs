//! Installing what is missing, by the package clients that people use.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::{Source, Tool, WHOLE, cache};
use crate::Failure;
use crate::failure::While;

/// How it went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Installed {
    /// It was there.
    Before,
    /// It is there now.
    Now,
}

/// Installs a tool if it is not there. What the package client says goes to the standard error.
pub fn install(tool: &Tool) -> Result<Installed, Failure> {
    if tool.missing().is_none() {
        return Ok(Installed::Before);
    }
    match tool.source {
        Source::Debian(packages) => debian(packages)?,
        Source::PyPi(package) => cached(tool, |folder| {
            // Debian's Python comes without it.
            if run(Command::new("python3").args(["-c", "import ensurepip, venv"])).is_err() {
                debian(&["python3-venv"])?;
            }
            run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
            let wanted = format!("{package}=={}", tool.version);
            run(Command::new(folder.join("bin/python")).args(["-m", "pip", "install", "--quiet", &wanted]))
        })?,
        Source::Npm(package) => cached(tool, |folder| {
            let wanted = format!("{package}@{}", tool.version);
            let quiet = ["--no-fund", "--no-audit", "--loglevel=error"];
            run(Command::new("npm").args(["install", "--global", "--prefix"]).arg(folder).args(quiet).arg(&wanted))
        })?,
        Source::Go(package) => cached(tool, |folder| {
            let wanted = format!("{package}@v{}", tool.version);
            let mut command = Command::new("go");
            command.args(["install", "-trimpath", "-ldflags=-s -w", &wanted]);
            run(command.env("GOBIN", folder.join("bin")).env("GOFLAGS", "-mod=mod").env("CGO_ENABLED", "0"))
        })?,
        Source::GoModule(module, programs) => cached(tool, |folder| {
            programs.iter().try_for_each(|(program, package)| {
                let mut command = Command::new("go");
                command.current_dir(module).args(["build", "-trimpath", "-ldflags=-s -w", "-o"]);
                command.arg(folder.join("bin").join(program)).arg(package);
                run(command.env("GOFLAGS", "-mod=readonly -buildvcs=false").env("CGO_ENABLED", "0"))
            })
        })?,
        Source::Maven(artefact) => cached(tool, |folder| maven(folder, artefact, tool.version))?,
    }
    match tool.missing() {
        None => Ok(Installed::Now),
        Some(missing) => Err(Failure::new(format!("its packages were installed, and yet {missing}"))),
    }
}

/// Needs root, or a sudo that asks for no password.
fn debian(packages: &[&str]) -> Result<(), Failure> {
    let root = rustix::process::geteuid().is_root();
    let apt = |arguments: &[&str]| {
        let mut command = if root { Command::new("apt-get") } else { Command::new("sudo") };
        if !root {
            command.args(["--non-interactive", "apt-get"]);
        }
        command.args(["-q", "-y", "--no-install-recommends"]).args(arguments).env("DEBIAN_FRONTEND", "noninteractive");
        run(&mut command)
    };
    let wanted = [&["install"], packages].concat();
    apt(&wanted).or_else(|_| apt(&["update"]).and_then(|()| apt(&wanted)))
}

/// Fills the tool's folder in the cache. One at a time, so that nobody finds half of it.
fn cached(tool: &Tool, fill: impl FnOnce(&Path) -> Result<(), Failure>) -> Result<(), Failure> {
    fs::create_dir_all(cache()).when(cache().display())?;
    let lock = File::create(cache().join("lock")).when(cache().display())?;
    lock.lock().when(cache().display())?;
    if tool.missing().is_none() {
        return Ok(());
    }
    let folder = tool.folder();
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).when(folder.display())?;
    fill(&folder)?;
    for binary in tool.binaries {
        link(&folder, binary)?;
    }
    fs::write(folder.join(WHOLE), "").when(folder.display())
}

/// Some packages keep a program among their own files: it gets a name in `bin`, where all others are.
fn link(folder: &Path, binary: &str) -> Result<(), Failure> {
    let bin = folder.join("bin");
    if bin.join(binary).exists() {
        return Ok(());
    }
    let not_there = || Failure::new(format!("{binary} is in none of the folders of what was installed"));
    let found = search(folder, binary).ok_or_else(not_there)?;
    fs::create_dir_all(&bin).when(bin.display())?;
    fs::set_permissions(&found, fs::Permissions::from_mode(0o755)).when(found.display())?;
    std::os::unix::fs::symlink(&found, bin.join(binary)).when(found.display())
}

fn search(folder: &Path, name: &str) -> Option<PathBuf> {
    let entries: Vec<_> = fs::read_dir(folder).ok()?.flatten().collect();
    let here =
        entries.iter().find(|entry| entry.file_name() == name && entry.file_type().is_ok_and(|kind| kind.is_file()));
    let folders = entries.iter().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    here.map(|entry| entry.path()).or_else(|| folders.map(|entry| entry.path()).find_map(|path| search(&path, name)))
}

fn maven(folder: &Path, artefact: &str, version: &str) -> Result<(), Failure> {
    let (group, name) = artefact.split_once(':').expect("an artefact is group:name");
    let project = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\"><modelVersion>4.0.0</modelVersion>\
         <groupId>tenure</groupId><artifactId>testbed</artifactId><version>0</version><dependencies><dependency>\
         <groupId>{group}</groupId><artifactId>{name}</artifactId><version>{version}</version>\
         </dependency></dependencies></project>"
    );
    let file = folder.join("pom.xml");
    fs::write(&file, project).when(file.display())?;
    let mut command = Command::new("mvn");
    command.args(["--batch-mode", "--quiet", "--file"]).arg(&file).arg("dependency:copy-dependencies");
    run(command.arg(format!("-DoutputDirectory={}", folder.join("lib").display())))
}

fn run(command: &mut Command) -> Result<(), Failure> {
    let words = [command.get_program()].into_iter().chain(command.get_args()).map(OsStr::to_string_lossy);
    let typed = words.collect::<Vec<_>>().join(" ");
    eprintln!("+ {typed}");
    // What it says is for people; our own output may be read by a program.
    let status = command.stdin(Stdio::null()).stdout(std::io::stderr()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(format!("`{typed}` ended with {status}"))),
        Err(error) => Err(Failure::new(format!("`{typed}` could not be started: {error}"))),
    }
}
