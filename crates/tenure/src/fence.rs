//! The resource's side of fencing: remember the highest token before the effect, refuse every lower one.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::mutant::{Mutant, planted};
use crate::{Error, ErrorKind, FencingToken};

/// Refuses former leaders (SAFETY 19).
///
/// Put it where the guarded effect happens. A new leader's first act is [`raise`](Fence::raise): from then on a late writer is refused; until
/// then nobody can know that it is late.
/// ```
/// use tenure::{Fence, FencingToken};
/// let fence = Fence::in_memory();
/// let (old, new) = (FencingToken::new(33).unwrap(), FencingToken::new(34).unwrap());
/// fence.admit(old, || println!("written by 33"))?;
/// fence.raise(new)?;
/// assert!(fence.admit(old, || unreachable!()).is_err());
/// # Ok::<(), tenure::Error>(())
/// ```
pub struct Fence {
    highest: Mutex<Highest>,
}

struct Highest {
    token: Option<FencingToken>,
    file: Option<(PathBuf, File)>,
}

impl Fence {
    /// A fence that lives as long as the process: for a resource that does too.
    pub fn in_memory() -> Self {
        Fence { highest: Mutex::new(Highest { token: None, file: None }) }
    }

    /// A fence in a file: it outlives the process, and every process of this machine that opens it shares it. Raising it is on disk before the effect
    /// begins.
    pub fn in_file(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref().to_path_buf();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(|error| storage(&path, error))?;
        let token = locked(&path, &mut file, |file| read(&path, file))?;
        Ok(Fence { highest: Mutex::new(Highest { token, file: Some((path, file)) }) })
    }

    /// The highest token that was let through.
    pub fn highest(&self) -> Option<FencingToken> {
        self.highest.lock().unwrap_or_else(PoisonError::into_inner).token
    }

    /// Refuses every lower token from now on.
    pub fn raise(&self, token: FencingToken) -> Result<(), Error> {
        self.admit(token, || ())
    }

    /// Runs `effect` if no higher token was seen, and refuses every lower one from now on. No other effect runs at the same time.
    pub fn admit<T>(&self, token: FencingToken, effect: impl FnOnce() -> T) -> Result<T, Error> {
        let mut highest = self.highest.lock().unwrap_or_else(PoisonError::into_inner);
        let Highest { token: known, file } = &mut *highest;
        match file {
            None => {
                check(*known, token)?;
                *known = Some(token);
                Ok(effect())
            }
            Some((path, file)) => locked(path, file, |file| {
                let stored = read(path, file)?;
                *known = (*known).max(stored);
                check(*known, token)?;
                if stored < Some(token) {
                    write(path, file, token)?;
                }
                *known = Some(token);
                Ok(effect())
            }),
        }
    }
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("highest", &self.highest()).finish()
    }
}

fn check(known: Option<FencingToken>, token: FencingToken) -> Result<(), Error> {
    match known.filter(|known| *known > token && !planted(Mutant::FenceOpen)) {
        None => Ok(()),
        Some(known) => Err(Error::new(
            ErrorKind::LeadershipLost,
            format!(
                "token {token} is refused: {known} was seen, so another leads by now. Stop the work of token {token}"
            ),
        )),
    }
}

fn locked<T>(path: &Path, file: &mut File, act: impl FnOnce(&mut File) -> Result<T, Error>) -> Result<T, Error> {
    file.lock().map_err(|error| storage(path, error))?;
    let result = act(file);
    file.unlock().map_err(|error| storage(path, error))?;
    result
}

/// Two lines, written one after the other: a crash in the middle of one leaves the other whole, and the higher counts. Each has its token twice,
/// or a line that was cut off while it was written over another could say a number that is above both.
const LINE: usize = 42;

fn read(path: &Path, file: &mut File) -> Result<Option<FencingToken>, Error> {
    let mut text = Vec::new();
    file.seek(SeekFrom::Start(0))
        .and_then(|_| file.take(1024).read_to_end(&mut text))
        .map_err(|error| storage(path, error))?;
    highest(path, &text)
}

/// The highest token that a fence's file tells of; `None` only of a file in which nothing was ever written.
pub(crate) fn highest(path: &Path, text: &[u8]) -> Result<Option<FencingToken>, Error> {
    if text.is_empty() {
        return Ok(None);
    }
    let lines = text.chunks(LINE).take(2).map(parse);
    lines.max().flatten().map(Some).ok_or_else(|| {
        let message = format!(
            "{} is not a fence: it holds no token. Restore it, or remove it if nothing was ever guarded by it",
            path.display()
        );
        Error::new(ErrorKind::Corrupt, message)
    })
}

fn parse(line: &[u8]) -> Option<FencingToken> {
    let (token, again) = str::from_utf8(line.strip_suffix(b"\n")?).ok()?.split_once(' ')?;
    (token.len() == 20 && (token == again || planted(Mutant::FenceTornBelieved))).then(|| token.parse().ok()).flatten()
}

fn write(path: &Path, file: &mut File, token: FencingToken) -> Result<(), Error> {
    let line = line(token);
    for place in [0, LINE as u64] {
        file.seek(SeekFrom::Start(place))
            .and_then(|_| file.write_all(line.as_bytes()))
            .and_then(|()| file.sync_data())
            .map_err(|error| storage(path, error))?;
    }
    Ok(())
}

fn line(token: FencingToken) -> String {
    format!("{token:020} {token:020}\n")
}

fn storage(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::Unavailable, format!("the fence {} cannot be kept", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::arbitrary::{numbers, runs};

    fn token(number: u64) -> FencingToken {
        FencingToken::new(number).unwrap()
    }

    fn scratch(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("tenure-fence-{}-{:x}", std::process::id(), fastrand::u64(..)));
        std::fs::create_dir_all(&folder).unwrap();
        folder.join(name)
    }

    #[test]
    fn a_former_leader_is_refused_once_its_successor_has_been_there() {
        // SAFETY 19
        let path = scratch("fence");
        for fence in [Fence::in_memory(), Fence::in_file(&path).unwrap()] {
            assert_eq!(fence.admit(token(33), || 1).unwrap(), 1);
            assert_eq!(fence.admit(token(33), || 2).unwrap(), 2, "the same leader again");
            fence.raise(token(34)).unwrap();
            let refused = fence.admit(token(33), || unreachable!()).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::LeadershipLost);
            assert_eq!(fence.highest(), Some(token(34)));
        }
    }

    #[test]
    fn a_fence_in_a_file_outlives_its_process_and_is_shared() {
        let path = scratch("fence");
        let one = Fence::in_file(&path).unwrap();
        let other = Fence::in_file(&path).unwrap();
        one.raise(token(7)).unwrap();
        assert!(other.admit(token(6), || unreachable!()).is_err());
        other.raise(token(8)).unwrap();
        assert!(one.raise(token(7)).is_err());
        drop((one, other));
        assert_eq!(Fence::in_file(&path).unwrap().highest(), Some(token(8)));
    }

    #[test]
    fn a_write_that_was_cut_off_loses_no_token() {
        let path = scratch("fence");
        Fence::in_file(&path).unwrap().raise(token(41)).unwrap();
        // A crash in the middle of the first line.
        let whole = std::fs::read(&path).unwrap();
        let torn = [&b"000000000000"[..], &[0; 30], &whole[LINE..]].concat();
        std::fs::write(&path, torn).unwrap();
        assert_eq!(Fence::in_file(&path).unwrap().highest(), Some(token(41)));
    }

    #[test]
    fn a_file_that_is_no_fence_is_an_error_and_not_a_fresh_start() {
        let path = scratch("fence");
        std::fs::write(&path, "not a token\n").unwrap();
        let error = Fence::in_file(&path).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corrupt);
        assert!(Fence::in_file(path.join("no/such/place")).is_err());
    }

    fn tokens() -> impl Strategy<Value = FencingToken> {
        numbers().prop_filter_map("it is no token", FencingToken::new)
    }

    fn told(text: &[u8]) -> Result<Option<FencingToken>, Error> {
        highest(Path::new("fence"), text)
    }

    proptest! {
        #![proptest_config(runs(2000))]

        #[test]
        fn what_a_fence_writes_it_reads(token in tokens()) {
            let text = line(token).repeat(2);
            prop_assert_eq!(told(text.as_bytes()).unwrap(), Some(token));
        }

        #[test]
        fn a_raise_that_was_cut_off_anywhere_tells_of_the_old_token_or_the_new_one(
            one in tokens(), other in tokens(), cut in 0..=2 * LINE,
        ) {
            // SAFETY 19: a number that is neither could be above every token to come, and shut out every leader.
            let (old, new) = (one.min(other), one.max(other));
            let (before, after) = (line(old).repeat(2), line(new).repeat(2));
            let torn = [&after.as_bytes()[..cut], &before.as_bytes()[cut..]].concat();
            let told = told(&torn).unwrap().unwrap();
            prop_assert!(told == old || told == new, "{told:?} of {old:?} and {new:?}");
            prop_assert!(told == new || cut < LINE, "what is on disk counts");
        }

        #[test]
        fn a_first_raise_that_was_cut_off_is_no_fresh_start(token in tokens(), cut in 1..2 * LINE) {
            let text = line(token).repeat(2);
            match told(&text.as_bytes()[..cut]) {
                Ok(told) => prop_assert_eq!(told, Some(token)),
                Err(error) => prop_assert_eq!(error.kind(), ErrorKind::Corrupt),
            }
        }
    }
}
