//! What the kernel says of this process.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

use crate::Failure;

/// Resident memory, in bytes.
pub(crate) fn resident() -> Result<u64, Failure> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split_ascii_whitespace().nth(1).ok_or("/proc/self/statm has another form than is known")?;
    Ok(pages.parse::<u64>()? * rustix::param::page_size() as u64)
}

/// The processor time that all threads of this process have used.
pub(crate) fn cpu() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// The processor time that this thread has used: what others do on the same machine does not count.
pub(crate) fn thread_cpu() -> Duration {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
