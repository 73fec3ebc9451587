//! `tenure run`: runs a command while this host holds the office.

use std::ffi::OsString;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use nix::sys::signal::SigSet;
use tenure::Promise;
use tracing::level_filters::LevelFilter;

use crate::exit::{self, Exit, Origin};
use crate::place::{PlaceArgs, Sources};
use crate::process::containment::{Level, Wanted};
use crate::report::{Json, Report};
use crate::supervisor::config::{AfterLoss, Config, OnExit, Patience};
use crate::supervisor::signals;
use crate::supervisor::terminal::Terminal;
use crate::timing::Asked;
use crate::{duration, supervisor};

/// Without the flags that happen to be set by the environment.
const USAGE: &str = "tenure run [OPTIONS] <ELECTION> -- <COMMAND>...";

/// Run a command while this host holds the office
///
/// The command is started when the office is won. It is asked to stop (SIGTERM to its whole tree) when the lease is about to run out, and
/// killed in time before it does, also when tenure itself was killed or frozen. It sees TENURE_ELECTION, TENURE_ID and TENURE_TOKEN, a number
/// that rises with every change of hands.
///
/// Signals are forwarded to it; its exit status is ours.
#[derive(Args, Debug)]
#[command(after_help = exit::TABLE, override_usage = USAGE)]
pub(crate) struct RunArgs {
    /// The office: hosts that run for the same one take turns
    election: String,

    /// The command and its arguments, after two dashes
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,

    #[command(flatten)]
    place: PlaceArgs,

    /// The name of this candidate [default: the host's name]
    #[arg(long, value_name = "NAME", env = "TENURE_ID", hide_env_values = true)]
    id: Option<String>,

    /// How long the office is kept for a holder that is not heard of [default: 15s]
    #[arg(long, value_name = "TIME", env = "TENURE_TTL", hide_env_values = true, value_parser = duration::parse, help_heading = "Timing")]
    ttl: Option<Duration>,

    /// How often to renew [default: a third of the lease]
    #[arg(long, value_name = "TIME", env = "TENURE_RENEW", hide_env_values = true, value_parser = duration::parse, help_heading = "Timing")]
    renew: Option<Duration>,

    /// How often to try for an office that is held, where the backend pushes nothing [default: 2/15 of the lease]
    #[arg(long, value_name = "TIME", env = "TENURE_RETRY", hide_env_values = true, value_parser = duration::parse, help_heading = "Timing")]
    retry: Option<Duration>,

    /// How long the command has between SIGTERM and SIGKILL [default: 2/15 of the lease]
    #[arg(long, value_name = "TIME", env = "TENURE_GRACE", hide_env_values = true, value_parser = duration::parse, help_heading = "Timing")]
    grace: Option<Duration>,

    /// How long before the end of the lease SIGKILL comes [default: 1s]
    #[arg(long, value_name = "TIME", env = "TENURE_KILL_MARGIN", hide_env_values = true, value_parser = duration::parse, help_heading = "Timing")]
    kill_margin: Option<Duration>,

    /// Hold the office for at least this long, also when the command ends sooner
    #[arg(long, value_name = "TIME", env = "TENURE_AT_LEAST", hide_env_values = true, value_parser = duration::parse, help_heading = "Timing")]
    at_least: Option<Duration>,

    /// Wait this long between winning and starting the command [default: 0s, or the lease where the address declares peers]
    ///
    /// For what cannot check tokens: whoever led before has this long to stop in, so let it be no shorter than the longest lease of
    /// anybody else. It is left out where the last holder gave the office up in a form that says so.
    #[arg(long, value_name = "TIME", env = "TENURE_SETTLE", hide_env_values = true, value_parser = duration::parse, help_heading = "Timing")]
    settle: Option<Duration>,

    /// Wait no longer than this for the office
    #[arg(long, value_name = "TIME", env = "TENURE_MAX_WAIT", hide_env_values = true, value_parser = duration::parse)]
    max_wait: Option<Duration>,

    /// Do not wait for the office: exit with 73 if another holds it
    #[arg(long, env = "TENURE_NO_WAIT", hide_env_values = true, value_parser = clap::builder::FalseyValueParser::new())]
    no_wait: bool,

    /// Take the first free of N offices, ELECTION/1 to ELECTION/N
    #[arg(long, value_name = "N", env = "TENURE_SLOTS", hide_env_values = true, value_parser = clap::value_parser!(u32).range(1..=1000))]
    slots: Option<u32>,

    /// The signal by which the command is asked to stop [default: TERM]
    #[arg(long, value_name = "SIGNAL", env = "TENURE_SIGNAL", hide_env_values = true, value_parser = signals::parse)]
    signal: Option<rustix::process::Signal>,

    /// What to do when the command ends
    #[arg(
        long,
        value_name = "WHAT",
        env = "TENURE_ON_EXIT",
        hide_env_values = true,
        value_enum,
        default_value = "resign"
    )]
    on_exit: OnExit,

    /// What to do when leadership is lost
    #[arg(
        long,
        value_name = "WHAT",
        env = "TENURE_AFTER_LOSS",
        hide_env_values = true,
        value_enum,
        default_value = "exit"
    )]
    after_loss: AfterLoss,

    /// How the command's tree is held: auto, pid-namespace, cgroup, subreaper or process-group
    #[arg(long, value_name = "HOW", env = "TENURE_CONTAINMENT", hide_env_values = true, default_value = "auto", value_parser = wanted, help_heading = "Safety")]
    containment: Wanted,

    /// Refuse to run if the tree cannot be held at least this firmly
    #[arg(long, value_name = "HOW", env = "TENURE_REQUIRE_CONTAINMENT", hide_env_values = true, value_parser = level, help_heading = "Safety")]
    require_containment: Option<Level>,

    /// Refuse to run on a backend that promises less
    #[arg(
        long,
        value_name = "PROMISE",
        env = "TENURE_REQUIRE",
        hide_env_values = true,
        value_enum,
        help_heading = "Safety"
    )]
    require: Option<Required>,

    /// Tell what happens as JSON lines on the standard error stream, or at the end of FILE
    #[arg(long, value_name = "FILE", env = "TENURE_JSON", hide_env_values = true, num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    json: Option<String>,

    /// Die with the process that started this one, by SIGKILL; the guardian then ends the command
    #[arg(long, env = "TENURE_DIE_WITH_PARENT", hide_env_values = true, hide = true, value_parser = clap::builder::FalseyValueParser::new())]
    die_with_parent: bool,

    /// Log to the standard error stream: error, warn, info, debug or trace [default: off]
    #[arg(long, value_name = "LEVEL", env = "TENURE_LOG", hide_env_values = true, value_parser = log_level)]
    log: Option<LevelFilter>,
}

/// What a backend can be required to promise.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Required {
    /// At most one leader at a time, and fencing tokens that never go back
    Fenced,
    /// At most one leader at a time
    LeaseOnly,
}

pub(crate) fn execute(arguments: RunArgs, sources: Sources) -> ExitCode {
    if arguments.die_with_parent {
        let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    }
    // Both before any thread is made. What a parent has blocked would never be heard, and the command is to begin without it too.
    let _ = SigSet::empty().thread_set_mask();
    let terminal = Terminal::of_this_session();
    let report = match Report::new(Json::named(arguments.json.as_deref())) {
        Ok(report) => report,
        Err(exit) => {
            crate::eprintln_safely(&format!("tenure: {exit}"));
            return exit.code();
        }
    };
    report.log(arguments.log.unwrap_or(LevelFilter::OFF));
    let exit = match arguments.checked(sources) {
        // A fault of ours ends the command: its guardian sees to that when this process is gone.
        Ok(config) => std::panic::catch_unwind(AssertUnwindSafe(|| supervise(&config, terminal, &report)))
            .unwrap_or_else(|_| Exit::new(Origin::Internal, "a fault of tenure itself; please report it")),
        Err(exit) => exit,
    };
    let code = exit.code();
    report.close(&exit);
    code
}

fn supervise(config: &Config, terminal: Option<Terminal>, report: &Report) -> Exit {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => {
            let exit = runtime.block_on(supervisor::run(config, terminal, report));
            // A call to a store that hangs must not keep the process.
            runtime.shutdown_background();
            exit
        }
        Err(error) => Exit::new(Origin::Internal, format!("no runtime can be made: {error}")),
    }
}

impl RunArgs {
    fn checked(self, sources: Sources) -> Result<Config, Exit> {
        let (ttl, renew, retry, grace) = (self.ttl, self.renew, self.retry, self.grace);
        let durations = Asked { ttl, renew, retry, grace, kill_margin: self.kill_margin }.settle()?;
        executable(&self.command[0])?;
        let no_wait = self.no_wait && !sources.waiting_is_typed();
        let patience = match (no_wait, self.max_wait) {
            (true, _) => Patience::None,
            (false, Some(span)) if span.is_zero() => Patience::None,
            (false, Some(span)) => Patience::For(span),
            (false, None) => Patience::Endless,
        };
        Ok(Config {
            slots: self.slots,
            id: self.id.filter(|id| !id.trim().is_empty()).unwrap_or_else(host_name),
            token_base: self.place.token_base(),
            place: self.place.url(sources)?,
            durations,
            at_least: self.at_least.unwrap_or_default(),
            settle: self.settle,
            patience,
            signal: self.signal.unwrap_or(rustix::process::Signal::TERM),
            on_exit: self.on_exit,
            after_loss: self.after_loss,
            containment: self.containment,
            required_containment: self.require_containment,
            required_promise: self.require.map(|required| match required {
                Required::Fenced => Promise::Fenced,
                Required::LeaseOnly => Promise::LeaseOnly,
            }),
            election: self.election,
            command: self.command,
        })
    }
}

/// SEEDS 54: whoever is not named is named after the host.
fn host_name() -> String {
    let name = rustix::system::uname().nodename().to_string_lossy().into_owned();
    if name.trim().is_empty() { "localhost".into() } else { name }
}

/// Finds out before the election what would fail after it: a host without the command must not win the office.
fn executable(program: &OsString) -> Result<(), Exit> {
    use std::os::unix::ffi::OsStrExt;

    let shown = program.to_string_lossy();
    if program.is_empty() {
        return Err(Exit::new(Origin::NotFound, "the command is an empty word, and so it was not found"));
    }
    let candidates: Vec<std::path::PathBuf> = if program.as_bytes().contains(&b'/') {
        vec![program.into()]
    } else {
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
        std::env::split_paths(&path).map(|folder| folder.join(program)).collect()
    };
    let mut found = None;
    for candidate in candidates {
        match rustix::fs::access(&candidate, rustix::fs::Access::EXEC_OK) {
            Ok(()) if candidate.is_dir() => found = Some("it is a folder".to_owned()),
            Ok(()) => return Ok(()),
            Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => {}
            Err(error) => found = Some(error.to_string()),
        }
    }
    match found {
        Some(why) => Err(Exit::new(Origin::CannotExecute, format!("{shown} cannot be executed: {why}"))),
        None => Err(Exit::new(Origin::NotFound, format!("{shown} was not found"))),
    }
}

fn wanted(text: &str) -> Result<Wanted, String> {
    text.parse().map_err(|_| format!("there is no such containment; there is auto, {}", levels()))
}

fn level(text: &str) -> Result<Level, String> {
    text.parse().map_err(|_| format!("there is no such containment; there is {}", levels()))
}

fn levels() -> String {
    Level::ALL.map(Level::as_str).join(", ")
}

fn log_level(text: &str) -> Result<LevelFilter, String> {
    text.parse().map_err(|_| "there is off, error, warn, info, debug and trace".to_owned())
}
