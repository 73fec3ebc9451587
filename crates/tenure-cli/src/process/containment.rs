//! How firmly a child's tree is held.

use std::fmt;
use std::str::FromStr;

/// What keeps a tree together, loosest first. Each is named as flags and JSON have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u64)]
pub(crate) enum Level {
    /// What stays in the command's process group is reached; whoever leaves it is not.
    ProcessGroup,
    /// Orphans fall to the guardian, which finds and kills every descendant that holds still long enough to be seen.
    Subreaper,
    /// The kernel knows the members, and kills them all at once; only the privileged can leave.
    Cgroup,
    /// The kernel ends the whole namespace with its first process, also when the guardian itself is killed; nobody can leave.
    PidNamespace,
}

impl Level {
    /// Firmest first.
    pub(crate) const ALL: [Level; 4] = [Level::PidNamespace, Level::Cgroup, Level::Subreaper, Level::ProcessGroup];

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Level::ProcessGroup => "process-group",
            Level::Subreaper => "subreaper",
            Level::Cgroup => "cgroup",
            Level::PidNamespace => "pid-namespace",
        }
    }

    pub(crate) fn from_number(number: u64) -> Option<Level> {
        Level::ALL.into_iter().find(|level| *level as u64 == number)
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Level::ALL.into_iter().find(|level| level.as_str() == text).ok_or_else(|| format!("no containment `{text}`"))
    }
}

/// Which containment to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The firmest that can be had.
    Best,
    /// This one or none.
    Exactly(Level),
}

impl Wanted {
    pub(crate) fn admits(self, level: Level) -> bool {
        match self {
            Wanted::Best => true,
            Wanted::Exactly(wanted) => wanted == level,
        }
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wanted::Best => f.write_str("auto"),
            Wanted::Exactly(level) => level.fmt(f),
        }
    }
}

impl FromStr for Wanted {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "auto" { Ok(Wanted::Best) } else { text.parse().map(Wanted::Exactly) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_ordered_named_and_numbered() {
        assert!(Level::ALL.is_sorted_by(|one, other| one > other));
        for level in Level::ALL {
            assert_eq!(level.as_str().parse(), Ok(level));
            assert_eq!(Level::from_number(level as u64), Some(level));
            assert_eq!(level.to_string().parse(), Ok(Wanted::Exactly(level)));
        }
        assert_eq!("auto".parse(), Ok(Wanted::Best));
        assert!("jail".parse::<Wanted>().is_err());
    }
}
